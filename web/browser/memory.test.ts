import { expect, test } from "vitest";
import { accessible, eventually, picture, visitor } from "./page";

const visit = visitor();

test("memory shows which rank grows, by which line of code, and where each peak was", async () => {
  const { page } = visit;
  await visit.go({ view: "memory", problem: "snapshots" });
  const grows = page.getByRole("row", { name: "snapshots 1 cuda:0" });
  await grows.waitFor();
  expect(await grows.textContent()).toMatch(/snapshots\s*1\s*cuda:0.*208 MiB.*150.*1 MiB a step, by File .*model\.py, line 42, in keep/);
  await page.getByRole("img", { name: "memory of 2 ranks over steps" }).waitFor();
});

test("runs of several sizes share an axis", async () => {
  const { page } = visit;
  await visit.go({ view: "memory", problem: "recorded", bench: "lives" });
  await page.getByRole("row").filter({ hasText: "recorded" }).first().waitFor();
  await page.getByRole("row").filter({ hasText: "lives" }).first().waitFor();
});

test("memory of a recorded run is stacked by component, over steps and time", async () => {
  const { page } = visit;
  await visit.go({ view: "memory", problem: "recorded" });
  const parts = page.getByRole("region", { name: "components" });
  await eventually(() => parts.textContent()).toMatch(/weights.*gradients.*other/s);
  await accessible(page, "memory");
  await picture(page, "memory", ["main"]); // a real run: its bytes vary
  await page.getByRole("button", { name: "over time" }).click();
  await page.getByRole("img", { name: "memory of 1 rank over time" }).waitFor();
  expect(new URL(page.url()).searchParams.get("by")).toBe("time");
});
