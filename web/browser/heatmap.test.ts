import { buffer } from "node:stream/consumers";
import type { Locator, Page } from "playwright-core";
import { expect, test } from "vitest";
import { accessible, compared, eventually, picture, visitor } from "./page";

const visit = visitor();

/** What the browser saves after a click. */
async function saved(page: Page, button: Locator): Promise<Buffer> {
  const [download] = await Promise.all([page.waitForEvent("download"), button.click()]);
  return buffer(await download.createReadStream());
}

test("a heat-map shows the error of each layer, and leads to its ops", async () => {
  const { page } = visit;
  await visit.go({ view: "heatmap", ...compared });
  const map = page.getByRole("application");
  await map.waitFor();
  const table = page.getByText("The cells that stand out");
  await table.click();
  await page
    .getByRole("row", { name: /layers\.3/ })
    .first()
    .waitFor();
  await accessible(page, "heat-map");
  await picture(page, "heatmap");
  await table.click();
  await map.focus();
  await page.keyboard.press("ArrowDown");
  await eventually(() => page.getByRole("status").filter({ hasText: "step 0" }).textContent()).toContain("model.layers.0");
  await page.keyboard.press("Enter");
  await page.getByRole("grid").waitFor();
  const to = new URL(page.url()).searchParams;
  expect([to.get("view"), to.get("step"), to.get("module")]).toEqual(["diff", "0", "model.layers.0"]);
});

test("a heat-map shows where NaN is, and its link has what was chosen", async () => {
  const { page } = visit;
  await visit.go({ view: "heatmap", problem: "with-nan" });
  await page.getByRole("button", { name: "rank × step" }).click();
  const line = page.getByRole("status").filter({ hasText: "rank 0" });
  await eventually(() => line.textContent()).toMatch(/step 1:.*with NaN or infinity/);
  const link = page.url();
  await page.goto("about:blank");
  await page.goto(link);
  await page.getByRole("button", { name: "rank × step", pressed: true }).waitFor();
  await eventually(() => line.textContent()).toContain("step 1");
});

test("keys zoom into what they mark, and out again", async () => {
  const { page } = visit;
  await visit.go({ view: "heatmap", problem: "with-nan", by: "rank", statistic: "max" });
  const map = page.getByRole("application");
  await map.waitFor();
  await map.focus();
  await page.keyboard.press("Home");
  await page.keyboard.press("Shift+ArrowRight");
  await page.keyboard.press("Enter");
  await eventually(() => new URL(page.url()).searchParams.get("steps")).toBe("0-1");
  await page.getByRole("button", { name: "Zoom out" }).click();
  await eventually(() => new URL(page.url()).searchParams.get("steps")).toBeNull();
});

test("a chart is saved as picture, drawing and numbers", async () => {
  const { page } = visit;
  await visit.go({ view: "heatmap", problem: "with-nan", by: "rank", statistic: "not_finite_count" });
  await page.getByRole("application").waitFor();
  const files = page.getByRole("group", { name: "save the chart heatmap" });
  const file = (kind: string) => saved(page, files.getByRole("button", { name: kind }));
  expect((await file("PNG")).subarray(1, 4).toString()).toBe("PNG");
  expect((await file("SVG")).toString()).toContain("data:image/png;base64,");
  const [head, first, second] = (await file("CSV")).toString().split("\n");
  expect([head, first]).toEqual(["rank,rank_count,step,step_count,not_finite_count,not_finite_tensor_count", "0,1,0,1,0,0"]);
  expect(second).toMatch(/^0,1,1,1,(\d+),\1$/);
});
