import { expect, test } from "vitest";
import { eventually, hostile, visitor } from "./page";

const visit = visitor();

test.each(["runs", "verdict", "diff", "overflow"])("names are text in %s, whatever they are", async (view) => {
  const { page } = visit;
  await visit.go({ view, problem: `${hostile}0`, bench: `${hostile}1` });
  await page.getByText("<script>").first().waitFor();
  await eventually(() => page.locator("main").textContent()).not.toMatch(/^\s*(Asking|Loading|Comparing)/);
  expect(await page.evaluate(() => document.querySelectorAll("img[src='x']").length)).toBe(0);
  expect(await page.title()).not.toBe("taken");
  expect(await page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth)).toBe(true);
});
