import { views, type View } from "./address";

/** Keys of a person who writes are no commands. */
export function isTyping(event: KeyboardEvent): boolean {
  const at = event.composedPath()[0]; // the target may be the host of an editor's root
  if (!(at instanceof HTMLElement)) return false;
  return at.isContentEditable || ["INPUT", "TEXTAREA", "SELECT"].includes(at.tagName) || at.closest('[role="dialog"]') !== null;
}

/** 1 is the first view. */
export function viewOfKey(event: KeyboardEvent): View | null {
  if (event.ctrlKey || event.metaKey || event.altKey || !/^[1-9]$/.test(event.key)) return null;
  return views[Number(event.key) - 1] ?? null;
}

export const titles: Record<View, string> = {
  runs: "Runs",
  verdict: "Verdict",
  diff: "Diff",
  structure: "Structure",
  heatmap: "Heat-map",
  overflow: "Overflow",
  memory: "Memory",
  sql: "SQL",
};
