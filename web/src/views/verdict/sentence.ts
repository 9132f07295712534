// The answer of a comparison in one sentence, and what it rests on.
import type { Comparison, Difference, Origin } from "../../api/answers";
import { count, digits, numberOf, plural } from "../../words/numbers";

export function sentenceOf(c: Comparison): string {
  switch (c.verdict) {
    case "same":
      return `The runs are the same: nothing differs in ${plural(c.counts["paired"] ?? 0, "pair")} of tensors and arguments.`;
    case "unknown":
      return `It cannot be said whether the runs differ: ${c.unknown_because}.`;
    case "differs":
      return differs(c);
  }
}

function differs(c: Comparison): string {
  const origin = c.origins[0];
  if (origin === undefined) return `The runs differ in ${plural(c.counts["differing"] ?? 0, "tensor")}.`;
  const module = origin.module ? `, in module ${origin.module}` : "";
  const others = c.origins.length > 1 ? ` Nothing precedes ${plural(c.origins.length - 1, "other place")}, either.` : "";
  const before = origin.at_or_before ? " or before it" : "";
  return `They began to differ at step ${String(origin.step)}, rank ${String(origin.rank)}, in ${origin.op}${module}${before}: ${whatBegan(origin)}.${others}`;
}

/** What differs first, and why it is taken for the beginning. */
function whatBegan(o: Origin): string {
  const site = `${o.role} ${o.path}`;
  switch (o.kind) {
    case "parameter":
      return `its parameter ${o.parameter || o.path} already differs`;
    case "argument":
      return `its argument ${site} is ${o.problem_literal || "nothing"}, and ${o.bench_literal || "nothing"} in the bench`;
    case "data":
      return `its ${site} came from outside of the model, and is other data`;
    case "unseen_input":
      return `its ${site} differs, whose source was not recorded`;
    case "computed":
      return `its inputs agree and its ${site} does not`;
    case "operation":
      return o.operation ? whichRunHas(o.operation) : "only one run has an op directly before it";
    default:
      return `its ${site} differs`;
  }
}

/** Ops with the run that has them, as in "A only in problem, B only in bench", or "A in problem, B in bench". */
function whichRunHas(ops: string): string {
  return ops.replace(/( only)? in (problem|bench)(?=, |$)/g, " is$1 in the $2").replace(/(^|, ) is/g, "$1an op is");
}

/** How a pair differs: the size of the error, what was tolerated, and by which evidence. */
export function evidenceOf(d: Difference): string {
  const parts: string[] = [];
  if (d.structure) parts.push(`another ${d.structure}`);
  const side = d.not_finite_side ?? d.side ?? "";
  if (d.verdict === "not_finite" && side !== "" && side !== "none")
    parts.push(`NaN or infinity in ${side === "both" ? "both runs" : `the ${side}`}`);
  else if (d.reason) parts.push(d.reason);
  else if (numberOf(d.error) !== null) parts.push(errorOf(d));
  const by = d.evidence && d.evidence !== "none" ? ` (by ${d.evidence})` : "";
  return parts.join(", ") + by;
}

function errorOf(d: Difference): string {
  const bound = d.evidence === "statistics" ? "at least " : "";
  const tolerated = numberOf(d.tolerance) === null ? "" : `, tolerated ${digits(d.tolerance)}`;
  return `relative error ${bound}${digits(d.error)}${tolerated}`;
}

export interface Share {
  name: string;
  word: string;
  n: number;
  colour: string;
  mark: string;
}

/** All tensors and arguments of both runs, each counted once. */
export function sharesOf(counts: Record<string, number>): Share[] {
  const of = (name: string) => counts[name] ?? 0;
  const differing = of("differing");
  return [
    { name: "alike", word: "paired, and nothing differs", n: Math.max(0, of("paired") - differing), colour: "good", mark: "=" },
    { name: "differing", word: "paired, and different", n: differing, colour: "diverged", mark: "≠" },
    { name: "only_problem", word: "only in the problem", n: of("only_problem"), colour: "alone", mark: "−" },
    { name: "only_bench", word: "only in the bench", n: of("only_bench"), colour: "structure", mark: "+" },
    { name: "unknown", word: "unknown", n: of("unknown"), colour: "unknown", mark: "?" },
  ];
}

export function totalOf(shares: Share[]): string {
  return count(shares.reduce((sum, s) => sum + s.n, 0));
}
