// Numbers over positions or steps, on a scale of powers of ten or from 0.
import type { Drawing, Shape } from "../../charts/drawing";
import { extent, frame, lineLook, type Axis } from "../../charts/frame";
import { token } from "../../charts/tokens";
import { count, digits } from "../../words/numbers";

export interface Line {
  name: string;
  points: { at: number; value: number | null }[]; // null where nothing was measured
  bound?: boolean; // what is tolerated, and not measured
}

export interface Course {
  title: string; // of the axis
  lines: Line[];
  powers: boolean; // of ten; else the scale begins at 0
}

const least = 1e-9; // of a scale of powers of ten; what is less, and 0, lies on its edge
const few = 80; // points that are marked

/** Where a value stands on the scale; null where it has no place there. */
function heightOf(value: number | null, powers: boolean): number | null {
  if (value === null || !Number.isFinite(value)) return null;
  return powers ? Math.log10(Math.max(value, least)) : value;
}

function scaleOf(course: Course): Axis {
  const heights = course.lines.flatMap((l) => l.points.map((p) => heightOf(p.value, course.powers)));
  const [low, high] = extent(heights);
  if (!course.powers) return { from: Math.min(0, low), to: high > 0 ? high * 1.05 : 1, words: digits };
  const words = (power: number) => `1e${String(Math.round(power)).replace("-", "−")}`;
  return { from: Math.floor(low), to: Math.max(Math.floor(low) + 1, Math.ceil(high)), words, kind: "whole" };
}

export function courseDrawing(course: Course, width: number, height: number): Drawing {
  const [from, to] = extent(course.lines.flatMap((l) => l.points.map((p) => p.at)));
  const room = from === to ? 0.5 : 0;
  const { x, y, shapes } = frame(
    { from: from - room, to: to + room, words: count, title: course.title, kind: "whole" },
    scaleOf(course),
    width,
    height,
  );
  let left = 80;
  course.lines.forEach((line, n) => {
    const look = line.bound ? { colour: token("ink-soft"), dash: [2, 3] } : lineLook(n);
    shapes.push({ kind: "text", x: left, y: 10, text: `${line.bound ? "┄" : "━"} ${line.name}`, colour: look.colour, anchor: "start" });
    left += 30 + line.name.length * 8;
    for (const part of partsOf(line, course.powers)) {
      const points = part.map(([at, value]): [number, number] => [x(at), y(value)]);
      shapes.push({ kind: "line", points, ...look });
      if (!line.bound && line.points.length <= few) shapes.push(...points.map((p) => dot(p, look.colour)));
    }
    if (!line.bound) shapes.push(...infinite(line, x));
  });
  return { width, height, ground: token("sheet"), shapes };
}

function dot([x, y]: [number, number], fill: string): Shape {
  return { kind: "rect", x: x - 2.5, y: y - 2.5, width: 5, height: 5, fill };
}

function infinite(line: Line, x: (at: number) => number): Shape[] {
  return line.points
    .filter((p) => p.value !== null && !Number.isFinite(p.value))
    .map((p): Shape => ({ kind: "text", x: x(p.at), y: 26, text: "∞", colour: token("not-finite"), anchor: "middle" }));
}

/** A line is broken where nothing was measured, or nothing finite. */
function partsOf(line: Line, powers: boolean): [number, number][][] {
  const found: [number, number][][] = [[]];
  for (const { at, value } of line.points) {
    const height = heightOf(value, powers);
    if (height === null) found.push([]);
    else found.at(-1)?.push([at, height]);
  }
  return found.filter((part) => part.length > 0);
}
