import { expect, test } from "vitest";
import { accessible, picture, visitor } from "./page";

const visit = visitor();

test("a run that went wrong names the rank that went first, with its op and inputs", async () => {
  const { page } = visit;
  await visit.go({ view: "trouble", problem: "dies", bench: "lives" });
  await page.getByText("Rank 2 was the first to go: died without a word in step 3, op Module.2.Last.forward.0").waitFor();
  const rank = page.getByRole("complementary", { name: "rank 2" });
  await rank.getByText("float32[2, 12, 32]").waitFor();
  await accessible(page, "crash");
  await picture(page, "crash", ["main"]); // a real run: its times vary
  await rank.getByRole("link", { name: "Logs of its last minute" }).click();
  await page.getByRole("grid", { name: "lines of all ranks" }).waitFor();
  expect(new URL(page.url()).searchParams.get("rank")).toBe("2");
});

test("a run that went wrong names the rank that others wait for", async () => {
  const { page } = visit;
  await visit.go({ view: "trouble", part: "hang", problem: "stuck" });
  await page.getByRole("heading", { name: "Rank 2 did not come to all_reduce" }).waitFor();
  await accessible(page, "hang");
  await picture(page, "hang");
});

test("a run that went wrong tells the life of each request, and the link says which", async () => {
  const { page } = visit;
  await visit.go({ view: "trouble", part: "requests", problem: "served", find: "8160" });
  await page.getByText("1 request", { exact: true }).waitFor();
  const life = page.getByRole("complementary", { name: "life of the request" });
  expect(await life.textContent()).toContain("finished");
  await accessible(page, "requests");
  await picture(page, "requests");
});
