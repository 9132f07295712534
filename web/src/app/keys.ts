import { views, type View } from "./address";

/** Keys of a person who writes are no commands. */
export function isTyping(event: KeyboardEvent): boolean {
  const at = event.composedPath()[0]; // the target may be the host of an editor's root
  if (!(at instanceof HTMLElement)) return false;
  return at.isContentEditable || ["INPUT", "TEXTAREA", "SELECT"].includes(at.tagName) || at.closest('[role="dialog"]') !== null;
}

const row = "1234567890-="; // as on a keyboard

/** The key of a view, by the order of views. */
export function keyOf(view: View): string {
  return row[views.indexOf(view)] ?? "";
}

export function viewOfKey(event: KeyboardEvent): View | null {
  if (event.ctrlKey || event.metaKey || event.altKey || event.key.length !== 1) return null;
  return views[row.indexOf(event.key)] ?? null;
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
  live: "Live",
  trouble: "Trouble",
  logs: "Logs",
  sql: "SQL",
};
