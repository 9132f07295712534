// What an op or a run came to, with the mark that says so without colour.

export interface Kind {
  name: string;
  mark: string;
  word: string;
  colour: string; // token of design/tokens.css
  meaning: string;
}

/** Verdicts of ops, the worst first. */
export const kinds: readonly Kind[] = [
  { name: "not_finite", mark: "∞", word: "not finite", colour: "not-finite", meaning: "NaN or infinity in one run" },
  { name: "diverged", mark: "≠", word: "diverged", colour: "diverged", meaning: "the error is above the tolerance" },
  { name: "structure", mark: "◫", word: "structure", colour: "structure", meaning: "another dtype, shape or literal" },
  { name: "only_problem", mark: "−", word: "only here", colour: "alone", meaning: "only the problem has this op" },
  { name: "only_bench", mark: "+", word: "only there", colour: "alone", meaning: "only the bench has this op" },
  { name: "unpaired", mark: "±", word: "unpaired", colour: "alone", meaning: "a tensor of it is in one run only" },
  { name: "unknown", mark: "?", word: "unknown", colour: "unknown", meaning: "the evidence decides nothing" },
  { name: "same", mark: "=", word: "same", colour: "same", meaning: "nothing of it differs beyond the tolerance" },
];

const strange: Kind = { name: "", mark: "·", word: "", colour: "same", meaning: "" };

/** Tensors have finer words for what is the same. */
const same = ["equal", "within", "agrees"];

export function kindOf(verdict: string): Kind {
  const name = same.includes(verdict) ? "same" : verdict;
  const kind = kinds.find((k) => k.name === name) ?? strange;
  return kind.name === verdict ? kind : { ...kind, word: verdict.replaceAll("_", " ") };
}

export function codeOf(verdict: string): number {
  const at = kinds.findIndex((k) => k.name === verdict);
  return at < 0 ? kinds.length - 1 : at;
}

const noErrors: Record<string, string> = {
  not_finite: "no error: NaN and infinity have none",
  structure: "no error: what has another dtype, shape or literal has none",
  only_problem: "no error: the bench has no such op",
  only_bench: "no error: the problem has no such op",
  unpaired: "no error: one run alone has the tensor",
  unknown: "no error: the evidence gives none",
  same: "no error is kept of what agrees",
};

/** Why an op with this verdict has no error, where it has none. */
export function whyNoError(code: number): string {
  return noErrors[kinds[code]?.name ?? ""] ?? "no error is known";
}

/** Those a person steps through: numbers or structure that make the runs differ. */
export const differing: ReadonlySet<number> = new Set(["not_finite", "diverged", "structure"].map(codeOf));

/** Verdicts of whole runs. */
export function runKind(verdict: string): Kind {
  switch (verdict) {
    case "differs":
      return { name: verdict, mark: "≠", word: "differs", colour: "diverged", meaning: "differs from its bench" };
    case "agrees":
    case "same":
      return { name: verdict, mark: "=", word: "the same", colour: "good", meaning: "nothing differs from its bench" };
    case "unknown":
      return { name: verdict, mark: "?", word: "unknown", colour: "unknown", meaning: "too little data to decide" };
    default:
      return { ...strange, name: verdict, word: verdict, meaning: verdict };
  }
}

/** States of runs. */
export function stateKind(status: string): Kind {
  switch (status) {
    case "running":
      return { name: status, mark: "●", word: "live", colour: "good", meaning: "its ranks give signs of life" };
    case "ended":
      return { name: status, mark: "✓", word: "ended", colour: "same", meaning: "every rank ended in order" };
    case "died":
      return { name: status, mark: "✗", word: "died", colour: "diverged", meaning: "a rank ended without saying so" };
    default:
      return { name: status, mark: "◐", word: status, colour: "alone", meaning: "its last step is not whole" };
  }
}
