// A heat-map of 1,024 ranks and 10,000 steps in a browser.
import { test } from "vitest";
import { answered, soon } from "./answered";
import { repeated, report, seconds } from "./figures";
import { visitor } from "./page";

const visit = visitor();
const often = 20;

test("a picture of ten million cells", async () => {
  const { page } = visit;
  const opened: number[] = [];
  for (const statistic of ["rms", "max", "l2", "mean"]) {
    const go = () => visit.go({ view: "heatmap", problem: "drawn", by: "rank", order: "tp", statistic });
    opened.push(await seconds(() => go().then(() => page.locator('[role="application"][aria-busy="false"]').waitFor())));
  }
  report({ what: "a heat-map of 1,024 ranks and 10,000 steps opens, of another statistic each time", form: "s", values: opened, mark: 1 });
  await page.getByRole("application").focus();
  const line = `document.querySelector('.line [role="status"]')?.textContent`;
  const move = await repeated(often, async () => {
    const before = await page.evaluate<string>(line);
    return answered(page, "move", () => page.keyboard.press("ArrowRight"), `${line} !== ${JSON.stringify(before)}`);
  });
  report({ what: "move over its cells", form: "ms", values: move, share: 0.95, mark: soon });
});
