// A heat-map of 1,024 ranks and 10,000 steps in a browser.
import type { Page } from "playwright-core";
import { test } from "vitest";
import { answered, soon } from "./answered";
import { repeated, report, seconds } from "./figures";
import { visitor } from "./page";

const visit = visitor();
const often = 20;

/** Marks a part of the picture with the mouse, from and to shares of its width and height. */
async function mark(page: Page, from: number, to: number): Promise<void> {
  const box = await page.locator('[role="application"] canvas').boundingBox();
  if (box === null) throw new Error("the picture has no canvas");
  await page.mouse.move(box.x + box.width * from, box.y + box.height * from);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * to, box.y + box.height * to);
  await page.mouse.up();
}

/** The picture of the steps that the address names is there, and they are others than before. */
const zoomed = (before: string) =>
  `(new URLSearchParams(location.search).get("steps") ?? "") !== ${JSON.stringify(before)} && document.querySelector('[role="application"]')?.getAttribute("aria-busy") === "false"`;

async function zoom(page: Page): Promise<number> {
  const before = new URL(page.url()).searchParams.get("steps") ?? "";
  return answered(page, "zoom", () => mark(page, 0.3, 0.6), zoomed(before));
}

test("a picture of ten million cells", async () => {
  const { page } = visit;
  const [opened, parts]: [number[], number[]] = [[], []];
  for (const statistic of ["rms", "max", "l2", "mean"]) {
    const go = () => visit.go({ view: "heatmap", problem: "drawn", by: "rank", order: "tp", statistic });
    opened.push(await seconds(() => go().then(() => page.locator('[role="application"][aria-busy="false"]').waitFor())));
    parts.push(await zoom(page), await zoom(page));
  }
  report({ what: "a heat-map of 1,024 ranks and 10,000 steps opens, of another statistic each time", form: "s", values: opened, mark: 1 });
  report({ what: "a part of it that is marked opens, and a part of that", form: "s", values: parts, mark: 1 });
  await page.getByRole("application").focus();
  const line = `document.querySelector('.line [role="status"]')?.textContent`;
  const move = await repeated(often, async () => {
    const before = await page.evaluate<string>(line);
    return answered(page, "move", () => page.keyboard.press("ArrowRight"), `${line} !== ${JSON.stringify(before)}`);
  });
  report({ what: "move over its cells", form: "ms", values: move, share: 0.95, mark: soon });
});
