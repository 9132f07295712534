// What stands beside a step and rank, where one is chosen.
import { plural } from "../../words/numbers";
import type { JudgedPlace } from "./ask";

export function wordsOf(place: JudgedPlace): string {
  const { differing_count: differing, paired_count: paired } = place;
  if (differing === undefined) return "";
  if (differing > 0) return `: ≠ ${plural(differing, "difference")}`;
  if (paired === 0) return ": in one run only";
  const alone = (place.only_problem_count ?? 0) + (place.only_bench_count ?? 0);
  return alone > 0 ? `: ± ${plural(alone, "tensor")} in one run only` : ": nothing differs";
}
