// What a cell stands for, in words and as a place to go.
import type { Address } from "../../app/address";
import { csvOf } from "../../charts/csv";
import { count, digits } from "../../words/numbers";
import type { Picture } from "./picture";
import type { Range, Statistic } from "./what";

export interface Cell {
  row: number;
  column: number;
}

/** The cell, or the one next to it that the picture has. */
export function within(picture: Picture, cell: Cell): Cell {
  const nearest = (at: number, size: number) => Math.max(0, Math.min(at, size - 1));
  return { row: nearest(cell.row, picture.height), column: nearest(cell.column, picture.width) };
}

/** Steps and places from one cell to another, in any direction. */
export function zoomed(picture: Picture, a: Cell, b: Cell): { steps: Range; places: Range } {
  const [left, right] = [Math.min(a.column, b.column), Math.max(a.column, b.column)];
  const [top, bottom] = [picture.rows[Math.min(a.row, b.row)], picture.rows[Math.max(a.row, b.row)]];
  return {
    steps: { from: picture.step(left), to: picture.step(right + 1) - 1 },
    places: { from: top?.place ?? 0, to: (bottom?.place ?? 0) + (bottom?.count ?? 1) - 1 },
  };
}

/** Where in the diff one cell is; null where it stands for several steps or ranks. */
export function opened(picture: Picture, cell: Cell): Partial<Address> | null {
  const row = picture.rows[cell.row];
  if (row === undefined || row.count > 1 || picture.stride > 1) return null;
  return { step: picture.step(cell.column), rank: row.rank, module: row.layer, op: "" };
}

export function stepsOf(picture: Picture, column: number): string {
  const first = picture.step(column);
  return picture.stride > 1 ? `steps ${count(first)} to ${count(first + picture.stride - 1)}` : `step ${count(first)}`;
}

export function valueOf(picture: Picture, cell: Cell, statistic: Statistic): string {
  const bad = picture.badAt(cell.row, cell.column);
  if (bad < 0) return "nothing recorded";
  const value = picture.value(cell.row, cell.column);
  const known = Number.isNaN(value) ? (bad > 0 ? "" : "not measured") : `${statistic.word} ${digits(value)}`;
  const broken = bad > 0 ? `${count(bad)} ${bad === 1 ? "tensor" : "tensors"} with NaN or infinity` : "";
  return [broken, known].filter((t) => t !== "").join(", ");
}

export function csvOfPicture(picture: Picture, by: "rank" | "layer", statistic: string): string {
  const rows: unknown[][] = [];
  picture.rows.forEach((row, r) => {
    for (let c = 0; c < picture.width; c++) {
      const bad = picture.badAt(r, c);
      const value = picture.value(r, c);
      if (bad >= 0) rows.push([row.rank ?? row.layer, row.count, picture.step(c), picture.stride, Number.isNaN(value) ? null : value, bad]);
    }
  });
  return csvOf([by, `${by}_count`, "step", "step_count", statistic, "not_finite_tensor_count"], rows);
}
