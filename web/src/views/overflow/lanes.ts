// How NaN and infinity spread: a lane for each step and rank, and in it a point for each op, in order of execution.
import { count, digits, numberOf, plural, type Answered } from "../../words/numbers";
import type { Kind } from "../../words/verdicts";

export interface Bad {
  rank: number;
  step: number;
  position: number;
  op: string;
  module: string;
  role: string;
  path: string;
  verdict: string;
  dtype: string;
  shape: number[] | string;
  nan_count: Answered;
  positive_infinity_count: Answered;
  negative_infinity_count: Answered;
  value_min: Answered;
  value_max: Answered;
  value_mean: Answered;
}

export interface Lane {
  step: number;
  rank: number;
  bad: Bad[];
}

export const kinds: Record<string, Kind> = {
  origin: {
    name: "origin",
    mark: "★",
    word: "began here",
    colour: "not-finite",
    meaning: "its inputs are finite, and what it gave is not",
  },
  parameter: { name: "parameter", mark: "◆", word: "parameter", colour: "diverged", meaning: "a weight is not finite" },
  gradient: { name: "gradient", mark: "▽", word: "gradient", colour: "structure", meaning: "a gradient is not finite" },
  argument: { name: "argument", mark: "◇", word: "argument", colour: "alone", meaning: "an argument that is no tensor" },
  "passed on": { name: "passed on", mark: "→", word: "passed on", colour: "same", meaning: "it was given NaN or infinity, and gave it on" },
  "input only": {
    name: "input only",
    mark: "⊣",
    word: "ended here",
    colour: "good",
    meaning: "it was given NaN or infinity, and gave none on",
  },
  "known exception": {
    name: "known exception",
    mark: "~",
    word: "known exception",
    colour: "same",
    meaning: "meant to be so, as masks are",
  },
  unknown: { name: "unknown", mark: "?", word: "unknown", colour: "unknown", meaning: "its op is not known" },
};

export function kindOf(verdict: string): Kind {
  return kinds[verdict] ?? { name: verdict, mark: "·", word: verdict, colour: "unknown", meaning: verdict };
}

/** What is meant to be infinite is no fault. */
export function faults(rows: Bad[]): Bad[] {
  return rows.filter((r) => r.verdict !== "known exception");
}

export function lanesOf(rows: Bad[]): Lane[] {
  const lanes = new Map<string, Lane>();
  for (const row of rows) {
    const key = `${String(row.step)} ${String(row.rank)}`;
    const lane = lanes.get(key) ?? { step: row.step, rank: row.rank, bad: [] };
    lane.bad.push(row);
    lanes.set(key, lane);
  }
  return [...lanes.values()].sort((a, b) => a.step - b.step || a.rank - b.rank);
}

/** First and last place of all lanes. */
export function reach(lanes: Lane[]): { from: number; to: number } {
  const places = lanes.flatMap((l) => l.bad.map((b) => b.position));
  const from = places.reduce((a, b) => Math.min(a, b), Infinity);
  const to = places.reduce((a, b) => Math.max(a, b), -Infinity);
  return places.length === 0 ? { from: 0, to: 1 } : { from, to: Math.max(to, from + 1) };
}

export function sentenceOf(run: string, rows: Bad[]): string {
  if (rows.length === 0) return `Nothing that ${run} recorded is NaN or infinite, but for what is meant to be.`;
  const began = rows.find((r) => r.verdict === "origin") ?? rows.find((r) => r.verdict === "parameter") ?? rows[0];
  if (began === undefined) return "";
  const word = began.verdict === "origin" ? "began" : "is first seen";
  const what = whatOf(began);
  const module = began.module ? `, in module ${began.module}` : "";
  return `NaN or infinity ${word} at step ${String(began.step)}, rank ${String(began.rank)}, in ${began.role} ${began.path} of ${began.op}${module}${what ? `: ${what}` : ""}.`;
}

/** What of a tensor is not finite: counts where there are any, else what its statistics show. */
export function whatOf(bad: Bad): string {
  const counts = [
    [numberOf(bad.nan_count), "NaN"],
    [numberOf(bad.positive_infinity_count), "+∞"],
    [numberOf(bad.negative_infinity_count), "−∞"],
  ] as const;
  const counted = counts.filter(([n]) => n !== null && n > 0).map(([n, what]) => `${count(n ?? 0)} × ${what}`);
  const values = [bad.value_min, bad.value_max, bad.value_mean];
  const seen = [...new Set(values.filter((v) => !Number.isFinite(numberOf(v) ?? 0)).map(digits))];
  return (counted.length > 0 ? counted : seen).join(", ");
}

export function spreadOf(lanes: Lane[], rows: Bad[]): string {
  const ops = new Set(rows.map((r) => r.op)).size;
  const [steps, ranks] = [new Set(lanes.map((l) => l.step)).size, new Set(lanes.map((l) => l.rank)).size];
  return `It reached ${plural(ops, "op")} on ${plural(ranks, "rank")} in ${plural(steps, "step")}.`;
}
