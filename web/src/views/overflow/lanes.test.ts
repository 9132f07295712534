import { expect, test } from "vitest";
import { faults, kindOf, kinds, lanesOf, reach, sentenceOf, spreadOf, whatOf, type Bad } from "./lanes";

function bad(more: Partial<Bad>): Bad {
  return {
    rank: 0,
    step: 1,
    position: 5,
    op: "mul.0",
    module: "",
    role: "output",
    path: "0",
    verdict: "passed on",
    nan_count: 3,
    ...more,
  } as Bad;
}

test("the sentence names the origin, though others come before it in the list", () => {
  const rows = [bad({ op: "first" }), bad({ op: "<b>origin</b>", verdict: "origin", module: "layers.2", positive_infinity_count: 1 })];
  expect(sentenceOf("r", rows)).toBe(
    "NaN or infinity began at step 1, rank 0, in output 0 of <b>origin</b>, in module layers.2: 3 × NaN, 1 × +∞.",
  );
  expect(sentenceOf("r", [bad({})])).toContain("is first seen at step 1");
  expect(sentenceOf("r", [])).toContain("Nothing that r recorded");
});

test("what is meant to be infinite is no fault", () => {
  expect(faults([bad({ verdict: "known exception" }), bad({})])).toHaveLength(1);
});

test("lanes are steps and ranks in order, over one reach", () => {
  const rows = [bad({ rank: 1, position: 9 }), bad({ rank: 0 }), bad({ rank: 0, step: 0, position: 2 }), bad({ rank: 0 })];
  const lanes = lanesOf(rows);
  expect(lanes.map((l) => [l.step, l.rank, l.bad.length])).toEqual([
    [0, 0, 1],
    [1, 0, 2],
    [1, 1, 1],
  ]);
  expect(reach(lanes)).toEqual({ from: 2, to: 9 });
  expect(reach([])).toEqual({ from: 0, to: 1 });
  expect(reach(lanesOf([bad({})]))).toEqual({ from: 5, to: 6 });
  expect(spreadOf(lanes, rows)).toBe("It reached 1 op on 2 ranks in 2 steps.");
});

test("marks tell verdicts apart, and what was not counted is said", () => {
  expect(new Set(Object.values(kinds).map((k) => k.mark)).size).toBe(Object.keys(kinds).length);
  expect(kindOf("brand new").word).toBe("brand new");
  expect(whatOf(bad({ nan_count: null, value_min: 1, value_max: "NaN", value_mean: "-Infinity" }))).toBe("NaN, −∞");
  expect(whatOf(bad({ nan_count: null }))).toBe("");
  expect(sentenceOf("r", [bad({ nan_count: null, verdict: "argument" })])).toMatch(/of mul\.0\.$/);
});
