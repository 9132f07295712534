// Lines over one axis as a drawing, for a file.
import { digits } from "../words/numbers";
import type { Drawing, Shape } from "./drawing";
import { extent, frame, lineLook } from "./frame";
import { token } from "./tokens";

/** Columns of numbers, the first of which is the axis; null is a gap. */
export function linesDrawing(
  title: string,
  names: string[],
  [axis = [], ...columns]: (number | null)[][],
  width: number,
  height: number,
): Drawing {
  const [from, to] = extent(axis);
  const [low, high] = extent(columns.flat());
  const legend = names.map((text, i): Shape => ({
    kind: "text",
    x: 80 + i * 150,
    y: 10,
    text,
    colour: lineLook(i).colour,
    anchor: "start",
  }));
  const { x, y, shapes } = frame({ from, to, words: digits, title }, { from: low, to: high, words: digits }, width, height);
  const lines = columns.flatMap((column, i) =>
    parts(axis, column).map((part): Shape => ({ kind: "line", points: part.map(([a, b]) => [x(a), y(b)]), ...lineLook(i) })),
  );
  return { width, height, ground: token("sheet"), shapes: [...shapes, ...legend, ...lines] };
}

/** A line is broken where nothing was measured. */
function parts(axis: (number | null)[], column: (number | null)[]): [number, number][][] {
  const found: [number, number][][] = [[]];
  column.forEach((value, i) => {
    const at = axis[i] ?? null;
    if (at === null || value === null) found.push([]);
    else found.at(-1)?.push([at, value]);
  });
  return found.filter((p) => p.length > 0);
}
