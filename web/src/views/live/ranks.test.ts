import { expect, test } from "vitest";
import { inTrouble, seconds, sentenceOf, type Rank } from "./ranks";

const rank = (n: number, state: string, step: number | null, behind: number | null = null): Rank => ({
  rank: n,
  state,
  step,
  behind_step_count: behind,
  heard_seconds_ago: 1,
  op: "",
  module: "",
  phase: "",
  op_seconds: null,
  failure_type: "",
  failure_message: "",
  host: "",
  pid: null,
  device: "",
});

test("a sentence counts the ranks by state and names who is furthest behind", () => {
  const ranks = [rank(3, "silent", 8, 4), rank(1, "running", 11, 1), rank(0, "running", 12, 0), rank(2, "never heard of", null)];
  expect(sentenceOf("bad", ranks)).toBe("bad: 1 rank silent, 2 ranks running, 1 rank never heard of, at step 12; rank 3 is 4 steps behind");
  expect(sentenceOf("good", [rank(0, "running", 0, 0)])).toBe("good: 1 rank running, at step 0");
});

test("a rank that is gone is trouble, and one that ended is none", () => {
  expect(inTrouble([rank(0, "running", 1), rank(1, "ended", 1)])).toBe(false);
  expect(inTrouble([rank(0, "running", 1), rank(1, "died", 1)])).toBe(true);
});

test("few seconds have a digit, and none are negative", () => {
  expect([seconds(null), seconds(-0.2), seconds(3.14), seconds(72.6)]).toEqual(["–", "0.0 s", "3.1 s", "73 s"]);
});
