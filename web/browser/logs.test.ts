import { expect, test } from "vitest";
import { accessible, eventually, picture, visitor } from "./page";

const visit = visitor();

test("logs are those of all ranks on one clock", async () => {
  const { page } = visit;
  await visit.go({ view: "logs", problem: "dies", bench: "lives", find: "loss" });
  const list = page.getByRole("grid", { name: "lines of all ranks" });
  await list.waitFor();
  const rows = await list.getByRole("row").allTextContents();
  const times = rows.map((r) => r.slice(0, 12));
  expect(times).toEqual([...times].sort());
  // A line that the machine was late to read may stand twice.
  expect(rows.filter((r) => r.includes("step 0 loss")).length).toBeGreaterThanOrEqual(4);
  await accessible(page, "logs");
  await picture(page, "logs", ["main"]); // a real run: its times vary
});

test("logs are filtered by rank, level and text, and lead to the step", async () => {
  const { page } = visit;
  await visit.go({ view: "logs", problem: "dies", bench: "lives", rank: "2", level: "warning" });
  const line = page.getByRole("row").filter({ hasText: "memory of <b>node7</b> is running low" });
  await line.waitFor();
  await line.click();
  await page.getByRole("link", { name: "Diff at step 2, rank 2" }).click();
  await eventually(() => new URL(page.url()).searchParams.get("view")).toBe("diff");
  expect(new URL(page.url()).searchParams.get("step")).toBe("2");
  await visit.go({ view: "logs", problem: "dies", find: "no such text" });
  await page.getByText("No line of dies fits").waitFor();
});
