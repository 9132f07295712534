// A comparison of many ops in a browser: how soon it is there, and how soon each thing that a person does.
import type { Page } from "playwright-core";
import { test } from "vitest";
import { answered, soon } from "./answered";
import { repeated, report, rounds, seconds } from "./figures";
import { visitor } from "./page";

const visit = visitor();
const runs = { problem: "problem", bench: "bench" };
const most = { share: 0.95, mark: soon }; // of 100 actions, 95

async function opensVerdict(): Promise<void> {
  await visit.go({ view: "verdict", ...runs });
  await visit.page.getByText("Where to look next").waitFor();
}

async function opensDiff(): Promise<void> {
  await visit.go({ view: "diff", ...runs });
  await visit.page.getByRole("grid").getByRole("row").first().waitFor();
}

/** A cursor that jumps far is not drawn before the list has scrolled there. */
const cursorMoved = (from: string) =>
  `![undefined, ${JSON.stringify(from)}].includes(document.querySelector('[aria-selected="true"]')?.textContent)`;

async function atCursor(page: Page): Promise<string> {
  return (await page.locator('[aria-selected="true"]').textContent()) ?? "";
}

async function status(page: Page): Promise<string> {
  return (await page.locator(".filters [role=status]").textContent()) ?? "";
}

const statusChanged = (from: string) => `document.querySelector('.filters [role=status]')?.textContent !== ${JSON.stringify(from)}`;

test("a comparison opens", async () => {
  const first = [await seconds(opensVerdict)];
  report({ what: "the verdict opens for the first time: every tensor is judged", form: "s", values: first });
  const again = await repeated(rounds, () => seconds(opensVerdict));
  report({ what: "the verdict opens", form: "s", values: again, mark: 1 });
  const diffFirst = [await seconds(opensDiff)];
  report({ what: "the diff opens for the first time", form: "s", values: diffFirst });
  const diffAgain = await repeated(rounds, () => seconds(opensDiff));
  report({ what: "the diff opens", form: "s", values: diffAgain, mark: 1 });
});

async function key(page: Page, name: string): Promise<number> {
  return answered(page, name, () => page.keyboard.press(name), cursorMoved(await atCursor(page)));
}

test("actions answer", async () => {
  const { page } = visit;
  await opensDiff();
  await page.getByRole("grid").focus();
  const often = 100;
  const next = await repeated(often, () => key(page, "n"));
  report({ what: "next divergence", form: "ms", values: next, ...most });
  const scroll = await repeated(often, (round) => key(page, round % 2 === 0 ? "End" : "Home"));
  report({ what: "to the end of the list, and back", form: "ms", values: scroll, ...most });
  const find = page.getByPlaceholder("op or module  ( / )");
  const search = await repeated(often / 2, async (round) => {
    const before = await status(page);
    return answered(page, "search", () => find.fill(round % 2 === 0 ? "linear.2" : ""), statusChanged(before));
  });
  report({ what: "search", form: "ms", values: search, ...most });
  const verdict = page.getByRole("group", { name: "verdicts that are shown" }).getByRole("button", { name: "diverged" });
  const filter = await repeated(often / 2, async () => {
    const before = await status(page);
    return answered(page, "filter", () => verdict.click(), statusChanged(before));
  });
  report({ what: "filter by verdict", form: "ms", values: filter, ...most });
});

test("an op shows its tensors, and a view follows another", async () => {
  const { page } = visit;
  await opensDiff();
  await page.getByRole("grid").focus();
  const shows = `document.querySelector('aside h2') !== null && document.querySelector('aside [data-told]') === null && document.querySelector('aside').getAttribute('aria-busy') === 'false' && document.querySelector('[aria-selected="true"]').textContent.includes(document.querySelector('aside h2').textContent.slice(-20))`;
  const opened = await repeated(3, async () =>
    answered(page, "open an op", () => page.keyboard.press("ArrowDown"), `(${cursorMoved(await atCursor(page))}) && ${shows}`),
  );
  const toVerdict = "document.body.textContent.includes('Where to look next')";
  const toDiff = `document.querySelector('[role="grid"] [role="row"]') !== null`;
  const switched = await repeated(100, (round) =>
    answered(page, "switch", () => page.keyboard.press(round % 2 === 0 ? "2" : "3"), round % 2 === 0 ? toVerdict : toDiff),
  );
  report(
    {
      what: "an op that was not asked for before shows its tensors, after one press of a key",
      form: "s",
      values: opened,
      mark: soon + 0.2,
    },
    { what: "switch between verdict and diff", form: "ms", values: switched, ...most },
  );
});

test("memory", async () => {
  const { page } = visit;
  await opensVerdict();
  await page.keyboard.press("3");
  await page.getByRole("grid").getByRole("row").first().waitFor();
  const devtools = await page.context().newCDPSession(page);
  await devtools.send("HeapProfiler.collectGarbage");
  const heap = await devtools.send("Runtime.getHeapUsage");
  const whole = heap as unknown as { usedSize: number; backingStorageSize: number };
  report({
    what: "memory of both views: heap of JavaScript with its buffers, after a collection (Runtime.getHeapUsage)",
    form: "MB",
    values: [whole.usedSize + whole.backingStorageSize],
    mark: 300e6,
  });
});
