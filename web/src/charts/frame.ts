// The axes of a chart of numbers over numbers.
import { ticks } from "./axis";
import { letters, type Shape } from "./drawing";
import { token } from "./tokens";

export interface Axis {
  from: number;
  to: number;
  words: (n: number, digits?: number) => string;
  kind?: "any" | "whole" | "bytes";
}

export interface Frame {
  x: (n: number) => number;
  y: (n: number) => number;
  shapes: Shape[];
}

const edge = { least: 76, gap: 8, top: 22, right: 20, bottom: 40 };
const wideLetter = 0.66; // of the size of letters: no digit or letter of a unit but M is wider, in any usual font

/** How far the chart stands from the left, so that these words fit beside it. */
export function roomFor(words: string[]): number {
  const longest = Math.max(0, ...words.map((word) => word.length));
  return Math.max(edge.least, Math.ceil(longest * wideLetter * letters.size) + 2 * edge.gap);
}

export function frame(across: Axis & { title: string }, up: Axis, width: number, height: number): Frame {
  const levels = named(up, ticks(up.from, up.to, 6, up.kind));
  const left = roomFor(levels.map(([, text]) => text));
  const [wide, high] = [width - left - edge.right, height - edge.top - edge.bottom];
  const x = (n: number) => left + ((n - across.from) / (across.to - across.from || 1)) * wide;
  const y = (n: number) => edge.top + (1 - (n - up.from) / (up.to - up.from || 1)) * high;
  const [soft, line] = [token("ink-soft"), token("line")];
  const lines = levels.flatMap(([n, text]): Shape[] => [
    { kind: "rect", x: left, y: y(n), width: wide, height: 1, fill: line },
    { kind: "text", x: left - edge.gap, y: y(n), text, colour: soft, anchor: "end" },
  ]);
  const places = ticks(across.from, across.to, Math.floor(wide / 90), across.kind).map((n): Shape => ({
    kind: "text",
    x: x(n),
    y: height - 28,
    text: across.words(n),
    colour: soft,
    anchor: "middle",
  }));
  const title: Shape = { kind: "text", x: left + wide / 2, y: height - 10, text: across.title, colour: soft, anchor: "middle" };
  return { x, y, shapes: [...lines, ...places, title] };
}

/** Numbers and their words, with as many digits as tell them apart. */
export function named(axis: Axis, numbers: number[]): [number, string][] {
  const most = 7;
  for (let digits = 3; ; digits++) {
    const words = numbers.map((n): [number, string] => [n, axis.words(n, digits)]);
    if (digits === most || new Set(words.map(([, word]) => word)).size === words.length) return words;
  }
}

/** The least and the greatest of numbers, of which there may be many. */
export function extent(values: Iterable<number | null>): [number, number] {
  let [low, high] = [Infinity, -Infinity];
  for (const v of values) {
    if (v === null) continue;
    low = Math.min(low, v);
    high = Math.max(high, v);
  }
  return low > high ? [0, 1] : [low, high];
}

const colours = ["structure", "diverged", "good", "not-finite", "alone", "unknown"];
const dashes = [undefined, [8, 4], [2, 3], [10, 3, 2, 3]];

/** How the n-th line looks: dashes tell apart what colours do not. */
export function lineLook(n: number): { colour: string; dash?: number[] } {
  const dash = dashes[Math.floor(n / colours.length) % dashes.length];
  return { colour: token(colours[n % colours.length] ?? "ink"), ...(dash ? { dash } : {}) };
}
