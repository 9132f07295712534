import { expect, test } from "vitest";
import { views } from "../src/app/address";
import { eventually, hostile, visitor } from "./page";

const visit = visitor();

test.each(views)("names are text in %s, whatever they are", async (view) => {
  const { page } = visit;
  await visit.go({ view, problem: `${hostile}0`, bench: `${hostile}1` });
  await page.getByText("<script>").first().waitFor();
  await eventually(() => page.locator('main [data-told="busy"]').count()).toBe(0);
  expect(await page.evaluate(() => document.querySelectorAll("img[src='x']").length)).toBe(0);
  expect(await page.title()).not.toBe("taken");
  expect(await page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth)).toBe(true);
});

test.each([
  ["verdict", "File frame <script>"],
  ["logs", "line <script>"],
] as const)("call stacks and lines of logs are text in %s", async (view, told) => {
  const { page } = visit;
  await visit.go({ view, problem: `${hostile}0`, bench: `${hostile}1` });
  await page.getByRole("main").getByText(told).first().waitFor();
  await eventually(() => page.locator('main [data-told="busy"]').count()).toBe(0);
  expect(await page.evaluate(() => document.querySelectorAll("img[src='x']").length)).toBe(0);
  expect(await page.title()).not.toBe("taken");
});

test("names do not push the list of runs beyond the edge", async () => {
  const { page } = visit;
  await visit.go({ view: "runs" });
  await page.getByText("<script>").first().waitFor();
  expect(await page.getByRole("main").evaluate((main) => main.scrollWidth - main.clientWidth)).toBe(0);
});

test("names are text among the commands, too", async () => {
  const { page } = visit;
  await visit.go({ view: "runs" });
  await page.keyboard.press("Control+k");
  await page.getByPlaceholder("a view, a run, a command").fill("<script>");
  await page.getByRole("dialog").getByRole("option").filter({ hasText: "<script>" }).first().waitFor();
  expect(await page.evaluate(() => document.querySelectorAll("img[src='x']").length)).toBe(0);
  expect(await page.title()).not.toBe("taken");
});

test("names are text in what the database answers", async () => {
  const { page } = visit;
  await visit.go({ view: "sql", query: "SELECT name AS told FROM tap.runs WHERE name LIKE '<script>%'" });
  await page.getByRole("cell").filter({ hasText: "<script>" }).first().waitFor();
  expect(await page.evaluate(() => document.querySelectorAll("img[src='x']").length)).toBe(0);
  expect(await page.title()).not.toBe("taken");
});
