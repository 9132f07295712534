// What the program answers of raw tensors, and how cells are coloured.
import type { Rows } from "../../api/answers";
import { askJSON, type Answer } from "../../api/client";
import { count, digits, numberOf, type Answered } from "../../words/numbers";
import type { Edge } from "./slices";

export interface Kept {
  step: number;
  rank: number;
  op: string;
  role: string;
  path: string;
  size_bytes: number | null;
}

export interface Cells {
  dtype: string;
  shape: number[];
  mean: (number | null)[];
  least?: (number | null)[]; // where a cell has several elements
  greatest?: (number | null)[];
  nan: number[]; // empty where there is none
  infinite: number[];
}

export interface Picture {
  slice: string;
  elements: number;
  rows: Edge;
  columns: Edge;
  sides: Cells[];
  difference?: { furthest: (number | string | null)[]; unlike: number[] };
}

export interface Bin {
  from: Answered;
  to: Answered;
  count: number;
}

export interface Side {
  name: string;
  dtype: string;
  shape: number[];
  elements: number;
  nan: number;
  positive_infinity: number;
  negative_infinity: number;
  min?: Answered;
  max?: Answered;
  mean?: Answered;
  l2?: Answered;
}

export interface Difference {
  said: string;
  where: string;
  how: string;
  verdict: string;
  problem: Side;
  bench: Side;
  distance: Record<string, Answered>;
  worst: { index: number[]; problem: string; bench: string; difference: Answered; relative: Answered }[];
  histogram: Bin[];
}

export interface Look extends Side {
  greatest: { index: number[]; value: string }[];
  histogram: Bin[];
}

/** Which tensor, of one run or of two. */
export interface Which {
  problem: string;
  bench: string; // empty for one alone
  op: string;
  role: string;
  path: string;
  rank: number | null;
  step: number | null;
}

export const mostKept = 5000;

export function askKept(
  run: string,
  part: string,
  rank: number | null,
  step: number | null,
  signal: AbortSignal,
): Promise<Answer<Rows<Kept>>> {
  const columns = "step,rank,op,role,path,size_bytes";
  return askJSON<Rows<Kept>>("reports/raw_tensors", { run, part, rank, step, limit: mostKept, columns }, signal);
}

export function askPicture(which: Which, slice: string, signal: AbortSignal): Promise<Answer<Picture>> {
  return askJSON<Picture>("tensor/slice", { ...which, slice }, signal);
}

export function askDifference(which: Which, signal: AbortSignal): Promise<Answer<Difference>> {
  return askJSON<Difference>("tensor/diff", { ...which }, signal);
}

export function askLook({ problem: run, op, role, path, rank, step }: Which, signal: AbortSignal): Promise<Answer<Look>> {
  return askJSON<Look>("tensor", { run, op, role, path, rank, step }, signal);
}

/** What a cell of a heat-map is: a number, or a word for what has none. */
export type Shade = number | "nan" | "infinite" | "none";

export interface Heat {
  title: string;
  shades: Shade[];
  reach: number; // the greatest magnitude, which has the full colour
}

/** The heat-maps of a picture. Both sides have one scale, so that the same colour is the same number. */
export function heatsOf(picture: Picture, titles: string[]): Heat[] {
  const heats = picture.sides.map((side, i) => ({
    title: titles[i] ?? "",
    shades: side.mean.map((mean, at) => shadeOf(side, mean, at)),
    reach: 0,
  }));
  const reach = Math.max(...heats.map((h) => reachOf(h.shades)));
  const all: Heat[] = heats.map((h) => ({ ...h, reach }));
  const apart = picture.difference;
  if (apart) {
    const shades = apart.furthest.map((v, at): Shade => ((apart.unlike[at] ?? 0) > 0 ? "nan" : asShade(numberOf(v))));
    all.push({ title: "difference", shades, reach: reachOf(shades) });
  }
  return all;
}

function shadeOf(side: Cells, mean: number | null, at: number): Shade {
  if ((side.nan[at] ?? 0) > 0) return "nan";
  return (side.infinite[at] ?? 0) > 0 ? "infinite" : asShade(mean);
}

function asShade(v: number | null): Shade {
  if (v === null) return "none";
  return Number.isFinite(v) ? v : "infinite";
}

function reachOf(shades: Shade[]): number {
  return shades.reduce<number>((most, s) => (typeof s === "number" ? Math.max(most, Math.abs(s)) : most), 0);
}

/** What a person reads of a cell. */
export function toldOf(cells: Cells, at: number): string {
  const [nan, infinite] = [cells.nan[at] ?? 0, cells.infinite[at] ?? 0];
  const parts = [rangeOf(cells, at), nan > 0 ? `${count(nan)} × NaN` : "", infinite > 0 ? `${count(infinite)} × ∞` : ""];
  return parts.filter((p) => p !== "").join(", ") || "–";
}

function rangeOf(cells: Cells, at: number): string {
  const mean = cells.mean[at] ?? null;
  const [least, greatest] = [cells.least?.[at] ?? mean, cells.greatest?.[at] ?? mean];
  if (mean === null) return "";
  return least === greatest ? digits(mean) : `${digits(least)} … ${digits(greatest)}, mean ${digits(mean)}`;
}
