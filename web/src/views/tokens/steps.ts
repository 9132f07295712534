// Log-probabilities over the steps of a training.
import { count, digits, numberOf, plural } from "../../words/numbers";
import type { TrainingStep } from "./ask";
import type { Course, Line } from "./draw";

export const statistics = { difference: "|Δ log-prob|", kl: "KL", clipped: "clipped share" } as const;
export type Statistic = keyof typeof statistics;

/** The statistic of the address, if it is one; else the first. */
export function statisticOf(text: string): Statistic {
  return text in statistics ? (text as Statistic) : "difference";
}

const columns: Record<Statistic, [name: string, column: keyof TrainingStep][]> = {
  difference: [
    ["mean", "mean_difference"],
    ["p99", "p99_difference"],
  ],
  kl: [["KL (k3)", "kl_k3"]],
  clipped: [["share of tokens beyond the clip range", "beyond_clip"]],
};

export function courseOf(steps: TrainingStep[], statistic: Statistic): Course {
  const line = (name: string, column: keyof TrainingStep): Line => ({
    name,
    points: steps.map((s) => ({ at: s.step, value: numberOf(s[column]) })),
  });
  const lines = columns[statistic].map(([name, column]) => line(name, column));
  if (statistic === "difference") lines.push({ ...line("tolerated mean", "tolerance"), bound: true });
  return { title: "step", lines, powers: statistic !== "clipped" };
}

export function stepsSentence(steps: TrainingStep[]): string {
  const apart = steps.filter((s) => s.verdict !== "flat");
  const [first] = apart;
  if (first === undefined) return `Log-probabilities are flat in all of ${plural(steps.length, "step")}.`;
  const what = first.verdict === "drifts" ? "drift" : "do not pair";
  return `Log-probabilities ${what} in ${count(apart.length)} of ${plural(steps.length, "step")}, first in step ${String(first.step)}: suspected cause ${first.cause || "unknown"}.`;
}

/** The steps to be listed: those that are not flat, where any is. */
export function listed(steps: TrainingStep[]): TrainingStep[] {
  const apart = steps.filter((s) => s.verdict !== "flat");
  return apart.length > 0 ? apart : steps;
}

export function percent(share: TrainingStep["beyond_clip"]): string {
  const n = numberOf(share);
  return n === null ? "–" : `${digits(100 * n)} %`;
}
