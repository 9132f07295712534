import { views, type View } from "./address";

/** Keys of a person who writes are no commands. */
export function isTyping(event: KeyboardEvent): boolean {
  const at = event.composedPath()[0]; // the target may be the host of an editor's root
  if (!(at instanceof HTMLElement)) return false;
  return at.isContentEditable || ["INPUT", "TEXTAREA", "SELECT"].includes(at.tagName) || at.closest('[role="dialog"]') !== null;
}

const row = "1234567890-="; // as on a keyboard
const letters: Partial<Record<View, string>> = { tokens: "t" }; // of views for which the row has no room
const inRow = views.filter((view) => letters[view] === undefined);

/** The key of a view: in the order of the bar, but for letters. */
export function keyOf(view: View): string {
  return letters[view] ?? row[inRow.indexOf(view)] ?? "";
}

export function viewOfKey(event: KeyboardEvent): View | null {
  if (event.ctrlKey || event.metaKey || event.altKey || event.key.length !== 1) return null;
  return views.find((view) => keyOf(view) === event.key) ?? null;
}

export const titles: Record<View, string> = {
  runs: "Runs",
  verdict: "Verdict",
  diff: "Diff",
  structure: "Structure",
  heatmap: "Heat-map",
  overflow: "Overflow",
  memory: "Memory",
  tensors: "Tensors",
  tokens: "Tokens",
  live: "Live",
  trouble: "Trouble",
  logs: "Logs",
  sql: "SQL",
};
