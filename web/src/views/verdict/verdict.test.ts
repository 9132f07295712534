import { expect, test } from "vitest";
import type { Comparison, Layer, Origin } from "../../api/answers";
import { barsOf, shareOf } from "./layers";
import { nextPlaces } from "./places";
import { evidenceOf, sentenceOf, sharesOf } from "./sentence";

const origin = {
  rank: 0,
  step: 3,
  op: "Functional.linear.20.forward",
  module: "model.layers.2.mlp",
  role: "input",
  path: "1",
  kind: "parameter",
  parameter: "weight",
  verdict: "diverged",
  evidence: "statistics",
  error: 0.00075,
  tolerance: 1.65e-6,
  reason: "",
} as Origin;

function comparison(more: Partial<Comparison>): Comparison {
  return {
    verdict: "differs",
    counts: { paired: 10, differing: 4, only_problem: 0, only_bench: 0, unknown: 0 },
    origins: [origin],
    divergence: [],
    unpaired: [],
    layers: [],
    jumps: [],
    summary: [{ rank: 0, step: 3, differing_count: 4 }],
    unknown_because: "",
    ...more,
  } as Comparison;
}

test("one sentence says where it began and how", () => {
  expect(sentenceOf(comparison({}))).toBe(
    "They began to differ at step 3, rank 0, in Functional.linear.20.forward, in module model.layers.2.mlp: its parameter weight already differs.",
  );
  expect(sentenceOf(comparison({ origins: [{ ...origin, kind: "computed", module: "", role: "output", path: "0" }, origin] }))).toBe(
    "They began to differ at step 3, rank 0, in Functional.linear.20.forward: its inputs agree and its output 0 does not. Nothing precedes 1 other place, either.",
  );
  expect(sentenceOf(comparison({ origins: [] }))).toBe("The runs differ in 4 tensors.");
  expect(sentenceOf(comparison({ verdict: "same" }))).toContain("nothing differs in 10 pairs");
  expect(sentenceOf(comparison({ verdict: "unknown", unknown_because: "neither run has tensors" }))).toContain("neither run has tensors.");
});

test.each([
  ["A only in problem", "A is only in the problem"],
  ["A only in problem, B only in bench", "A is only in the problem, B is only in the bench"],
  ["A in problem, B in bench", "A is in the problem, B is in the bench"],
  [" only in bench", "an op is only in the bench"],
  ["", "only one run has an op directly before it"],
])("of ops of one run it says which run: %s", (operation, said) => {
  const answer = comparison({ origins: [{ ...origin, kind: "operation", module: "", operation }] });
  expect(sentenceOf(answer)).toBe(`They began to differ at step 3, rank 0, in Functional.linear.20.forward: ${said}.`);
});

test("evidence is said as strongly as it is, and no stronger", () => {
  expect(evidenceOf(origin)).toBe("relative error at least 7.5e−4, tolerated 1.65e−6 (by statistics)");
  expect(evidenceOf({ ...origin, evidence: "payload" })).toBe("relative error 7.5e−4, tolerated 1.65e−6 (by payload)");
  expect(evidenceOf({ ...origin, verdict: "not_finite", not_finite_side: "problem" })).toBe(
    "NaN or infinity in the problem (by statistics)",
  );
  expect(evidenceOf({ ...origin, structure: "dtype", error: null, evidence: "none" })).toBe("another dtype");
});

test("every tensor is in one share", () => {
  const shares = sharesOf({ paired: 10, differing: 4, only_problem: 2, only_bench: 3, unknown: 1 });
  expect(shares.map((s) => s.n)).toEqual([6, 4, 2, 3, 1]);
  expect(new Set(shares.map((s) => s.mark)).size).toBe(shares.length);
});

test("errors are drawn by powers of ten, and NaN over the whole scale", () => {
  expect([shareOf(null), shareOf(0), shareOf(NaN)]).toEqual([0, 0, 0]);
  expect(shareOf(10)).toBe(1);
  expect(shareOf(Infinity)).toBe(1);
  expect(shareOf(1e-20)).toBe(0.02);
  expect(shareOf(10 ** -3.5)).toBeCloseTo(0.5);
  const layers = [
    { direction: "forward", layer: "", greatest_error: null, not_finite_count: 2, differing_count: 2 },
    { direction: "backward", layer: "layers.1", greatest_error: 1, not_finite_count: 0, differing_count: 1 },
  ] as Layer[];
  expect(barsOf(layers, "forward")).toMatchObject([{ layer: "outside of layers", share: 1, bad: true, error: null }]);
  expect(barsOf(layers, "backward")).toHaveLength(1);
});

test("there are three next places at most, where it began first", () => {
  const jump = { rank: 0, step: 5, op: "j", error: 0.5, noise_before: 3e-6 };
  const unpaired = [{ rank: 0, step: 3, side: "problem", op: "u", module: "", reason: "" }];
  const counts = { paired: 9, differing: 4, not_finite: 2, only_problem: 1 };
  const places = nextPlaces(comparison({ origins: [origin, { ...origin, op: "second" }], jumps: [jump], unpaired, counts }));
  expect(places.map((p) => p.title)).toEqual(["Functional.linear.20.forward", "second", "j"]);
  expect(places[0]?.changes).toEqual({ rank: 0, step: 3, op: "Functional.linear.20.forward" });
  expect(nextPlaces(comparison({ unpaired, counts })).map((p) => p.view)).toEqual(["diff", "overflow", "diff"]);
  expect(nextPlaces(comparison({ verdict: "same", origins: [] })).map((p) => p.title)).toEqual(["All ops, side by side"]);
  expect(nextPlaces(comparison({ origins: [], summary: [] }))).toEqual([]);
});

test("of runs that have tokens, the next place is where those are compared", () => {
  const alone = comparison({ verdict: "unknown", origins: [], summary: [], tokens: { places: true, told: false } });
  expect(nextPlaces(alone).map((p) => [p.title, p.view])).toEqual([["Token by token", "tokens"]]);
  expect(nextPlaces({ ...alone, tokens: { places: false, told: true } })[0]?.why).toContain("log-probabilities");
  expect(nextPlaces({ ...alone, tokens: { places: false, told: false } })).toEqual([]);
});
