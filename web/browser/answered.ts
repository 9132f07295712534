// How long a page takes to answer what a person does, for the measurements.
import type { Page } from "playwright-core";

export const soon = 0.1; // seconds in which an action is to answer
const longest = 60; // seconds after which an action has failed

/** Seconds until what an action does to the page is drawn, by the page's own clock. Done is an expression, which the page's policy lets in as text alone. */
export async function answered(page: Page, what: string, act: () => Promise<void>, done: string): Promise<number> {
  // The page waits before the action is done: the browser hands on a key sooner than what is to be evaluated.
  await page.evaluate(`globalThis.answer = new Promise((resolve) => {
    let begin;
    const note = () => (begin ??= performance.now());
    for (const kind of ["keydown", "input", "pointerdown"]) addEventListener(kind, note, { capture: true, once: true });
    const end = performance.now() + ${String(longest * 1e3)};
    const look = () => {
      if (begin !== undefined && (${done})) resolve((performance.now() - begin) / 1e3);
      else if (performance.now() > end) resolve(null);
      else requestAnimationFrame(look);
    };
    look();
  }), undefined`);
  await act();
  const took = await page.evaluate<number | null>("globalThis.answer");
  if (took === null) throw new Error(`${what}: not so ${String(longest)} s later: ${done}`);
  return took;
}
