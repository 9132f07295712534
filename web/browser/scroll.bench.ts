// A list of a million rows in a browser.
import { tableFromArrays, tableToIPC, type Table } from "apache-arrow";
import type { Page } from "playwright-core";
import { test } from "vitest";
import { repeated, report, rounds } from "./figures";
import { visitor } from "./page";

const visit = visitor();

/** Frames a second while a list scrolls over its whole length for two seconds. */
async function framesOf(page: Page): Promise<number> {
  return page.evaluate(
    () =>
      new Promise<number>((resolve) => {
        const box = document.querySelector<HTMLElement>('[role="grid"]');
        const begin = performance.now();
        let frames = 0;
        const frame = () => {
          const passed = performance.now() - begin;
          if (passed >= 2_000 || box === null) {
            resolve((frames / passed) * 1e3);
            return;
          }
          frames++;
          box.scrollTop = (passed / 2_000) * box.scrollHeight;
          requestAnimationFrame(frame);
        };
        requestAnimationFrame(frame);
      }),
  );
}

test("a million rows scroll", async () => {
  const { page } = visit;
  const body = Buffer.from(tableToIPC(millionOps(), "stream"));
  const sequence = "**/api/v1/reports/sequence*";
  await page.route(sequence, (route) => route.fulfill({ body, contentType: "application/vnd.apache.arrow.stream" }));
  await visit.go({ view: "diff", problem: "problem", bench: "bench" });
  await page.getByRole("grid").getByRole("row").first().waitFor();
  const frames = await repeated(rounds, () => framesOf(page));
  await page.unroute(sequence);
  report({
    what: "a million rows scroll, from the first to the last in two seconds",
    form: "frames",
    values: frames,
    mark: 50,
    at_least: true,
  });
});

/** An answer of the program with a million ops, of which one in a hundred differs. */
function millionOps(): Table {
  const rows = Array.from({ length: 1_000_000 }, (_, row) => row);
  const names = rows.map((row) => `Tensor.add.${String(row)}.forward`);
  return tableFromArrays({
    rank: Uint32Array.from(rows, () => 0),
    step: Uint32Array.from(rows, () => 0),
    position: Uint32Array.from(rows),
    problem_op: names,
    bench_op: names,
    verdict: rows.map((row) => (row % 100 === 0 ? "diverged" : "same")),
    error: Float64Array.from(rows, (row) => (row % 100 === 0 ? 1e-3 : 0)),
  });
}
