// One tensor or argument of both sides in words.
import type { Explained } from "../../api/answers";
import { digits, numberOf } from "../../words/numbers";

export function shapeOf(t: Explained, side: "problem" | "bench"): string {
  const dtype = t[`${side}_dtype`];
  if (dtype === "") return t[`${side}_literal`] || (t[`${side}_kind`] === "none" ? "none" : "–");
  const shape = t[`${side}_shape`];
  return `${dtype} [${typeof shape === "string" ? shape.replace(/^\[|\]$/g, "") : shape.join(", ")}]`;
}

/** The error with what is known of it: a bound, an interval, or itself. */
export function errorOf(t: Explained): string {
  const parts: string[] = [];
  const [error, low, high, tolerance] = [t.error, t.error_low, t.error_high, t.tolerance].map(numberOf);
  if (t.reason) parts.push(t.reason);
  if (error !== null && error !== undefined) parts.push(`error ${t.evidence === "statistics" ? "at least " : ""}${digits(error)}`);
  if (t.evidence === "sketch" && low !== null && high !== null) parts.push(`between ${digits(low)} and ${digits(high)}`);
  if (tolerance !== null) parts.push(`tolerated ${digits(tolerance)}`);
  if (t.evidence && t.evidence !== "none") parts.push(`by ${t.evidence}`);
  return parts.join(", ");
}

const foreign = ["site-packages", "dist-packages", "/lib/python3", "<frozen "];

/** Frames with the user's own first, each group in its order: what the user wrote is what the user can mend. */
export function userFirst(frames: string[]): { frame: string; own: boolean }[] {
  const marked = frames.map((frame) => ({ frame, own: !foreign.some((f) => frame.includes(f)) }));
  return [...marked.filter((m) => m.own), ...marked.filter((m) => !m.own)];
}
