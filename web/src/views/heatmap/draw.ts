// A picture as shapes: cells as one image, with axes, a legend, and marks over what is not finite.
import { ticks } from "../../charts/axis";
import { cellPixels, packed } from "../../charts/cells";
import type { Drawing, Shape } from "../../charts/drawing";
import { colourOf, token } from "../../charts/tokens";
import { count, digits } from "../../words/numbers";
import { colourAt, css, marksOf, palette, share, type Scale } from "./colours";
import type { Picture } from "./picture";
import type { Statistic } from "./what";

/** Where the cells stand in the drawing. */
export interface Plot {
  left: number;
  top: number;
  width: number;
  height: number;
}

const margin = 12; // as of the words above and below the picture
const edge = { left: 128, top: 14, right: 104, bottom: 40 };
const roomyCell = 16; // pixels of a cell that has room for a mark
const shortest = 14; // pixels between two labels

export function plotOf(width: number, height: number): Plot {
  return {
    left: edge.left,
    top: edge.top,
    width: Math.max(1, width - edge.left - edge.right),
    height: Math.max(1, height - edge.top - edge.bottom),
  };
}

/** Of few rows each is as high as a line of text, or more; many share the room there is. */
export function heightOf(rows: number): number {
  return Math.min(560, Math.max(240, edge.top + edge.bottom + rows * 26));
}

export function drawingOf(picture: Picture, scale: Scale, statistic: Statistic, width: number, height: number): Drawing {
  const plot = plotOf(width, height);
  const roomy = plot.width / picture.width >= roomyCell && plot.height / picture.height >= roomyCell;
  const shapes: Shape[] = [
    { kind: "rect", x: plot.left, y: plot.top, width: plot.width, height: plot.height, fill: token("raised") },
    {
      kind: "picture",
      x: plot.left,
      y: plot.top,
      width: plot.width,
      height: plot.height,
      pixels: pixelsOf(picture, scale, roomy || (statistic.counts ?? false)),
    },
    ...(roomy ? badCorners(picture, plot) : badMarks(picture, plot)),
    ...rowLabels(picture, plot),
    ...stepLabels(picture, plot),
    ...legend(scale, statistic, plot),
  ];
  return { width, height, ground: token("sheet"), shapes };
}

/** Where a cell has room for a mark, or its value counts what is not finite, the value is seen all the same. */
function pixelsOf(picture: Picture, scale: Scale, marked: boolean): HTMLCanvasElement {
  const colours = palette(scale);
  const [bad, unknown] = [packed(colourOf("not-finite")), packed(colourOf("line"))];
  return cellPixels(picture.width, picture.height, (i) => {
    const [n, value] = [picture.bad[i] ?? -1, picture.values[i] ?? NaN];
    if (n < 0) return 0; // nothing was recorded
    if (n > 0 && (!marked || Number.isNaN(value))) return bad;
    return Number.isNaN(value) ? unknown : (colours[Math.round(share(scale, value) * 255)] ?? 0);
  });
}

/** A mark in the corner of each cell in which something is not finite. */
function badCorners(picture: Picture, plot: Plot): Shape[] {
  const [across, down] = [plot.width / picture.width, plot.height / picture.height];
  const found: Shape[] = [];
  picture.bad.forEach((n, i) => {
    const [x, y] = [plot.left + (i % picture.width) * across, plot.top + Math.floor(i / picture.width) * down];
    if (n <= 0) return;
    found.push({ kind: "rect", x: x + 3, y: y + 3, width: 10, height: 10, fill: token("sheet") });
    found.push({ kind: "rect", x: x + 4, y: y + 4, width: 8, height: 8, fill: token("not-finite") });
  });
  return found;
}

/** A stroke above each column, and beside each row, in which something is not finite: no pixel of it is missed. */
function badMarks(picture: Picture, plot: Plot): Shape[] {
  const columns = new Set<number>();
  const rows = new Set<number>();
  picture.bad.forEach((n, i) => {
    if (n <= 0) return;
    columns.add(i % picture.width);
    rows.add(Math.floor(i / picture.width));
  });
  const fill = token("not-finite");
  const [across, down] = [plot.width / picture.width, plot.height / picture.height];
  return [
    ...Array.from(columns, (c): Shape => ({
      kind: "rect",
      x: plot.left + c * across,
      y: plot.top - 8,
      width: Math.max(1, across),
      height: 6,
      fill,
    })),
    ...Array.from(rows, (r): Shape => ({
      kind: "rect",
      x: plot.left - 8,
      y: plot.top + r * down,
      width: 6,
      height: Math.max(1, down),
      fill,
    })),
  ];
}

function rowLabels(picture: Picture, plot: Plot): Shape[] {
  const down = plot.height / picture.height;
  const stride = Math.max(1, Math.ceil(shortest / down));
  return picture.rows.flatMap((row, i): Shape[] =>
    i % stride > 0
      ? []
      : [
          {
            kind: "text",
            x: plot.left - 12,
            y: plot.top + (i + 0.5) * down,
            text: shortened(row.label),
            colour: token("ink-soft"),
            anchor: "end",
          },
        ],
  );
}

function shortened(label: string): string {
  const all = [...label];
  return all.length > 18 ? `…${all.slice(-17).join("")}` : label;
}

function stepLabels(picture: Picture, plot: Plot): Shape[] {
  const across = plot.width / (picture.width * picture.stride);
  const y = plot.top + plot.height;
  const last = picture.step(picture.width) - 1;
  const wanted = ticks(picture.first, last, Math.floor(plot.width / 90), "whole");
  const colour = token("ink-soft");
  return [
    ...wanted.map((step): Shape => ({
      kind: "text",
      x: plot.left + (step - picture.first + 0.5) * across,
      y: y + 12,
      text: count(step),
      colour,
      anchor: "middle",
    })),
    {
      kind: "text",
      x: plot.left + plot.width / 2,
      y: y + 29,
      text: picture.stride > 1 ? `step, ${count(picture.stride)} in a column` : "step",
      colour,
      anchor: "middle",
    },
  ];
}

function legend(scale: Scale, { unit, counts = false }: Statistic, plot: Plot): Shape[] {
  const [x, width, parts] = [plot.left + plot.width + 14, 14, 64];
  const height = Math.min(220, plot.height - 30);
  const y = (at: number) => plot.top + (1 - at) * height;
  const colour = token("ink-soft");
  const blocks = Array.from({ length: parts }, (_, i): Shape => {
    const fill = css(colourAt(scale, (i + 0.5) / parts));
    return { kind: "rect", x, y: y((i + 1) / parts), width, height: height / parts + 0.5, fill };
  });
  const marks = marksOf(scale, 5).map((m): Shape => ({
    kind: "text",
    x: x + width + 5,
    y: Math.max(plot.top + 5, y(share(scale, m))),
    text: digits(m),
    colour,
    anchor: "start",
  }));
  const key: Shape[] = [
    { kind: "rect", x, y: y(0) + 12, width, height: 12, fill: token("not-finite") },
    { kind: "text", x: x + width + 5, y: y(0) + 18, text: "∞, NaN", colour, anchor: "start" },
  ];
  return [
    ...blocks,
    ...marks,
    ...(counts ? [] : key),
    { kind: "text", x: plot.left + plot.width + edge.right - margin, y: plot.top + plot.height + 29, text: unit, colour, anchor: "end" },
  ];
}
