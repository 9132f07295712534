// The two charts: lines of several ranks and runs on one axis, and what one of them is made of.
import type { Drawing, Shape } from "../../charts/drawing";
import { extent, frame, lineLook, type Frame } from "../../charts/frame";
import { token } from "../../charts/tokens";
import { bytes, count } from "../../words/numbers";
import { peakOf, stacked, type Line, type Point } from "./course";

export type Axis = "step" | "seconds";

export const componentColours: Record<string, string> = {
  weights: "structure",
  optimizer: "good",
  gradients: "diverged",
  kv: "not-finite",
  other: "same",
  activations: "alone",
};

function framed(all: Point[], axis: Axis, from: number, to: number, width: number, height: number): Frame {
  const [first, last] = extent(all.map((p) => p[axis]));
  const title = axis === "step" ? "step" : "seconds since the first look";
  return frame(
    { from: first, to: last, words: count, title, ...(axis === "step" ? { kind: "whole" } : {}) },
    { from, to, words: bytes, kind: "bytes" },
    width,
    height,
  );
}

/** Lines of totals. The axis begins near the least of them where they all lie far above zero, so that growth is seen. */
export function linesDrawing(lines: Line[], axis: Axis, width: number, height: number): Drawing {
  const all = lines.flatMap((l) => l.points);
  const [least, most] = extent(all.map((p) => p.bytes));
  const room = Math.max(1, most - least) * 0.08;
  const base = least > (most - least) * 4 ? Math.max(0, least - room) : 0;
  const { x, y, shapes } = framed(all, axis, base, most + room, width, height);
  lines.forEach((line, n) => {
    const look = lineLook(n);
    shapes.push({ kind: "line", points: line.points.map((p): [number, number] => [x(p[axis]), y(p.bytes)]), ...look });
    const peak = peakOf(line);
    if (peak) shapes.push({ kind: "text", x: x(peak[axis]), y: y(peak.bytes) - 8, text: "▼", colour: look.colour, anchor: "middle" });
  });
  return { width, height, ground: token("sheet"), shapes };
}

/** What one line is made of, above each other. */
export function stackDrawing(line: Line, axis: Axis, width: number, height: number): Drawing {
  const { at, layers } = stacked(line);
  const most = extent(layers.flatMap((l) => l.high))[1];
  const { x, y, shapes } = framed(at, axis, 0, most * 1.05, width, height);
  for (const { component, low, high } of layers) {
    const upper = at.map((p, i): [number, number] => [x(p[axis]), y(high[i] ?? 0)]);
    const lower = at.map((p, i): [number, number] => [x(p[axis]), y(low[i] ?? 0)]);
    shapes.push({ kind: "area", points: [...upper, ...lower.reverse()], colour: token(componentColours[component] ?? "same") });
  }
  return { width, height, ground: token("sheet"), shapes: [...shapes, ...layerNames(layers, y, at.length, width)] };
}

/** The name of a component stands in its part where that is high enough; the list below the chart has all. */
function layerNames(
  layers: { component: string; low: number[]; high: number[] }[],
  y: (n: number) => number,
  length: number,
  width: number,
): Shape[] {
  const middle = Math.floor(length / 2);
  return layers.flatMap(({ component, low, high }): Shape[] => {
    const [a, b] = [y(low[middle] ?? 0), y(high[middle] ?? 0)];
    return a - b < 18 ? [] : [{ kind: "text", x: width / 2, y: (a + b) / 2, text: component, colour: token("sheet"), anchor: "middle" }];
  });
}
