// The picture of layers as a drawing, for a file.
import type { Layer } from "../../api/answers";
import { csvOf } from "../../charts/csv";
import type { Drawing, Shape } from "../../charts/drawing";
import { token } from "../../charts/tokens";
import { digits } from "../../words/numbers";
import { barsOf, directionsOf, ticks, type Bar } from "./layers";

const [width, row, left, right] = [900, 24, 220, 170];

export function layersDrawing(layers: Layer[]): Drawing {
  const shapes: Shape[] = [];
  let y = 18;
  const ink = token("ink");
  for (const direction of directionsOf(layers)) {
    shapes.push({ kind: "text", x: 12, y, text: direction, colour: token("ink-soft"), anchor: "start" });
    y += row;
    for (const bar of barsOf(layers, direction)) {
      shapes.push(...barShapes(bar, y, ink));
      y += row;
    }
  }
  const powers = ticks().map((t): Shape => {
    const x = left + t.share * (width - left - right);
    return { kind: "text", x, y, text: `1e${String(t.power).replace("-", "−")}`, colour: token("ink-soft"), anchor: "middle" };
  });
  return { width, height: y + row, ground: token("sheet"), shapes: [...shapes, ...powers] };
}

function barShapes(bar: Bar, y: number, ink: string): Shape[] {
  const fill = token(bar.bad ? "not-finite" : bar.differing > 0 ? "diverged" : "same");
  const error = bar.bad ? "∞ not finite" : digits(bar.error);
  const differing = bar.differing > 0 ? `, ${String(bar.differing)} differ` : "";
  return [
    { kind: "text", x: left - 10, y, text: bar.layer, colour: ink, anchor: "end" },
    { kind: "rect", x: left, y: y - 7, width: bar.share * (width - left - right), height: 14, fill },
    { kind: "text", x: width - right + 10, y, text: error + differing, colour: ink, anchor: "start" },
  ];
}

export function layersCSV(layers: Layer[]): string {
  const columns = [
    "step",
    "direction",
    "layer_index",
    "layer",
    "paired_count",
    "differing_count",
    "not_finite_count",
    "greatest_error",
  ] as const;
  return csvOf(
    [...columns],
    layers.map((l) => columns.map((c) => l[c])),
  );
}
