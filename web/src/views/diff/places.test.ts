import { expect, test } from "vitest";
import { wordsOf } from "./places";

const place = { rank: 0, step: 1, paired_count: 9, differing_count: 0, only_problem_count: 0, only_bench_count: 0 };

test.each([
  [{ rank: 0, step: 1 }, ""],
  [{ rank: 0, step: 1, differing_count: 0 }, ": nothing differs"],
  [place, ": nothing differs"],
  [{ ...place, differing_count: 1, only_bench_count: 2 }, ": ≠ 1 difference"],
  [{ ...place, only_problem_count: 1, only_bench_count: 2 }, ": ± 3 tensors in one run only"],
  [{ ...place, paired_count: 0 }, ": in one run only"],
])("a step says what came of it: %j", (at, said) => {
  expect(wordsOf(at)).toBe(said);
});
