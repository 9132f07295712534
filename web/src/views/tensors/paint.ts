// Draws the cells of a heat-map: orange above zero, blue below, which people of any colour vision tell apart.
import { cellPixels, packed } from "../../charts/cells";
import { colourOf, type Colour } from "../../charts/tokens";
import type { Heat, Shade } from "./picture";

export interface Painting {
  heat: Heat;
  rows: number;
  columns: number;
  width: number;
  height: number;
  cell: [number, number]; // under the cursor
  began: [number, number] | null; // where a person began to mark a part
}

interface Tokens {
  ground: Colour;
  above: Colour;
  below: Colour;
  nan: Colour;
  infinite: Colour;
  none: Colour;
}

function tokens(): Tokens {
  return {
    ground: colourOf("sheet"),
    above: colourOf("diverged"),
    below: colourOf("structure"),
    nan: colourOf("not-finite"),
    infinite: colourOf("ink"),
    none: colourOf("line"),
  };
}

function mix(shade: Shade, reach: number, t: Tokens): Colour {
  if (typeof shade === "string") return t[shade];
  // The root shows what is small beside what is great.
  const share = reach > 0 ? Math.sqrt(Math.abs(shade) / reach) : 0;
  const to = shade >= 0 ? t.above : t.below;
  const part = (i: 0 | 1 | 2) => Math.round(t.ground[i] + share * (to[i] - t.ground[i]));
  return [part(0), part(1), part(2)];
}

export function paint(canvas: HTMLCanvasElement, p: Painting): void {
  canvas.width = p.width;
  canvas.height = p.height;
  const pen = canvas.getContext("2d");
  if (pen === null || p.rows === 0 || p.columns === 0) return;
  const t = tokens();
  const cells = cellPixels(p.columns, p.rows, (i) => packed(mix(p.heat.shades[i] ?? "none", p.heat.reach, t)));
  pen.imageSmoothingEnabled = false;
  pen.drawImage(cells, 0, 0, p.width, p.height);
  const [x, y] = [p.width / p.columns, p.height / p.rows];
  const [r, g, b] = t.infinite;
  pen.strokeStyle = `rgb(${String(r)} ${String(g)} ${String(b)})`;
  const from = p.began ?? p.cell;
  const [top, left] = [Math.min(from[0], p.cell[0]), Math.min(from[1], p.cell[1])];
  const [tall, wide] = [Math.abs(from[0] - p.cell[0]) + 1, Math.abs(from[1] - p.cell[1]) + 1];
  pen.strokeRect(left * x + 0.5, top * y + 0.5, wide * x - 1, tall * y - 1);
}
