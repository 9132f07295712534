// What a heat-map can show, and what of it is chosen in the address.
import type { Address } from "../../app/address";

export interface Statistic {
  name: string;
  word: string;
  unit: string;
  counts?: boolean; // what is not finite
}

/** The error needs two runs; the others are of one. */
export const statistics: readonly Statistic[] = [
  { name: "error", word: "error against the bench", unit: "relative error" },
  { name: "rms", word: "root mean square", unit: "root mean square of the elements" },
  { name: "l2", word: "norm (l2)", unit: "norm of what a rank has at a step" },
  { name: "mean", word: "mean", unit: "mean of the elements" },
  { name: "min", word: "minimum", unit: "least element" },
  { name: "max", word: "maximum", unit: "greatest element" },
  { name: "nan_count", word: "NaN", unit: "elements", counts: true },
  { name: "infinity_count", word: "infinity", unit: "elements", counts: true },
  { name: "not_finite_count", word: "tensors with NaN or infinity", unit: "tensors", counts: true },
];

export const orders: Record<string, string> = {
  rank: "number",
  tp: "tensor-parallel",
  pp: "pipeline-parallel",
  dp: "data-parallel",
};

export const roles: Record<string, string> = {
  all: "all tensors",
  input: "inputs",
  output: "outputs",
  parameter: "parameters",
  parameter_gradient: "gradients of parameters",
};

/** A part of an axis, both ends in it. */
export interface Range {
  from: number;
  to: number;
}

export interface Chosen {
  statistic: Statistic;
  by: "rank" | "layer";
  order: string;
  role: string;
  steps: Range | null; // null for all
  places: Range | null; // of ranks in their order
}

export function chosenOf(a: Address): Chosen {
  const { statistic, by, order, role, steps, places } = a;
  const both = a.problem !== "" && a.benches.length > 0;
  const usual = both ? "error" : "rms";
  const found = statistics.find((s) => s.name === statistic && (s.name !== "error" || both));
  return {
    statistic: found ?? statistics.find((s) => s.name === usual) ?? { name: "rms", word: "", unit: "" },
    by: by === "rank" ? "rank" : "layer",
    order: Object.hasOwn(orders, order) ? order : "rank",
    role: Object.hasOwn(roles, role) ? role : "all",
    steps: rangeOf(steps),
    places: rangeOf(places),
  };
}

export function rangeOf(text: string): Range | null {
  const found = /^(\d{1,10})-(\d{1,10})$/.exec(text);
  const [from, to] = [Number(found?.[1]), Number(found?.[2])];
  return found !== null && from <= to ? { from, to } : null;
}

export function textOf(range: Range | null): string {
  return range === null ? "" : `${String(range.from)}-${String(range.to)}`;
}
