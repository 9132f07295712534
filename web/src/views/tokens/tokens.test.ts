import { expect, test } from "vitest";
import type { Positions, Site, TrainingStep } from "./ask";
import { barsOf, chosenSite, keyOf, sentenceOf, verdictOf, worstOf } from "./sites";
import { courseOf, listed, statisticOf, stepsSentence } from "./steps";

function site(layer: number, name: string, verdict: string, more: Partial<Site> = {}): Site {
  const counts = { paired_count: 42, alone_count: 0, beyond_count: 0, began_count: 0 };
  const first = { first_position: null, first_prompt: "", first_sample: null };
  const growth = { position_growth: null, batch_growth: null, rank_growth: null };
  return { layer, site: name, verdict, ...counts, ...first, ...growth, mean_error: 0, max_error: 0, tolerance: 1e-3, ...more };
}

const begins = site(1, "attention", "begins", { began_count: 24, first_position: 6, first_prompt: "0860e97a13d9a69e", first_sample: 2 });
const sites = [site(0, "embedding", "same"), begins, site(1, "residual stream", "differs", { max_error: "Infinity" })];

test("a sentence says where tokens begin to differ, or that none does, or why nobody knows", () => {
  expect(sentenceOf(sites, [])).toBe(
    "Tokens begin to differ at layer 1, attention: 24 of 42 tokens, first at position 6 of prompt 0860e97a13d9a69e, sample 2.",
  );
  expect(sentenceOf([site(2, "residual stream", "begins")], [])).toContain("no token by itself, but all of them on average");
  const same = [site(0, "embedding", "same")];
  expect([sentenceOf(same, []), verdictOf(same, [])]).toEqual([
    "No token differs: 42 tokens pair by prompt, sample and position, at up to 1 place.",
    "same",
  ]);
  expect([sentenceOf(same, ["lost"]), verdictOf(same, ["lost"])]).toEqual([
    "No token differs in what is there, but not all is there.",
    "unknown",
  ]);
  const alone = [site(0, "embedding", "nothing pairs", { paired_count: 0 })];
  expect(verdictOf(alone, [])).toBe("unknown");
  expect(sentenceOf(alone, [])).toContain("No token of both runs has the same prompt");
});

test("the place of the address is shown, else the one where it begins, else the furthest that pairs", () => {
  expect(chosenSite(sites, "0 embedding")).toBe(sites[0]);
  expect(chosenSite(sites, "9 <script>")).toBe(begins);
  const alone = site(0, "embedding", "nothing pairs", { paired_count: 0 });
  const [same, further] = [site(1, "attention", "same"), site(2, "attention", "same", { max_error: 1e-7 })];
  expect(chosenSite([alone, same], "")).toBe(same);
  expect(chosenSite([alone, same, further], "")).toBe(further);
  expect(chosenSite([], "")).toBeUndefined();
  expect(new Set(sites.map(keyOf)).size).toBe(sites.length);
});

test("bars stand by layer, and what is not finite is full", () => {
  expect(barsOf(sites).map((b) => [b.opens, b.most, b.bad])).toEqual([
    [true, 0, false],
    [true, 0, false],
    [false, 1, true],
  ]);
});

test("the worst tokens are those of the greatest error, and none that is not apart", () => {
  const range = (at: number, error: Positions["max_error"]): Positions => ({
    first_position: at,
    last_position: at,
    paired_count: 3,
    mean_error: 0,
    max_error: error,
    worst_position: at,
    worst_prompt: "0b",
    worst_sample: 0,
  });
  const ranges = [range(0, 0), range(1, 0.5), range(2, "Infinity"), range(3, 0.5), range(4, 0.7)];
  expect(worstOf(ranges, 4).map((p) => p.first_position)).toEqual([2, 4, 1, 3]);
});

function step(at: number, verdict: string, cause = ""): TrainingStep {
  const apart = { mean_difference: 0.1, p99_difference: null, kl_k1: 0, kl_k3: 0, beyond_clip: 0 };
  return { step: at, verdict, paired_count: 64, ...apart, cause, place: "", evidence: "", also: "", tolerance: 1e-4 };
}

test("steps that drift are told with their cause, and listed alone", () => {
  const steps = [step(0, "flat"), step(1, "flat"), step(2, "drifts", "weights")];
  expect(stepsSentence(steps)).toBe("Log-probabilities drift in 1 of 3 steps, first in step 2: suspected cause weights.");
  expect(stepsSentence([step(0, "nothing pairs", "chat template")])).toContain("do not pair in 1 of 1 step, first in step 0");
  expect(stepsSentence(steps.slice(0, 2))).toBe("Log-probabilities are flat in all of 2 steps.");
  expect([listed(steps).length, listed(steps.slice(0, 2)).length]).toEqual([1, 2]);
});

test("a chart has the statistic of the address, gaps where nothing was measured", () => {
  expect(["kl", "clipped", "nonsense", ""].map(statisticOf)).toEqual(["kl", "clipped", "difference", "difference"]);
  const course = courseOf([step(3, "flat")], "difference");
  expect(course.lines.map((l) => [l.name, l.points[0]?.value])).toEqual([
    ["mean", 0.1],
    ["p99", null],
    ["tolerated mean", 1e-4],
  ]);
  expect([course.powers, courseOf([], "clipped").powers]).toEqual([true, false]);
});
