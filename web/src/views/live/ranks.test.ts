import { expect, test } from "vitest";
import { endOf, inTrouble, isLive, lastHeard, seconds, sentenceOf, workOf, type Rank } from "./ranks";

const rank = (n: number, state: string, step: number | null, behind: number | null = null): Rank => ({
  rank: n,
  state,
  step,
  behind_step_count: behind,
  heard_seconds_ago: 1,
  heard_time_ns: n * 1e9,
  op: "Torch.mul.0.forward",
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

test("a run is live while a rank may answer", () => {
  expect(isLive([rank(0, "ended", 1), rank(1, "running", 1)])).toBe(true);
  expect(isLive([rank(0, "died", 1), rank(1, "silent", 1)])).toBe(true);
  expect(isLive([rank(0, "died", 1), rank(1, "ended", 1)])).toBe(false);
  expect(isLive([rank(0, "cut short", 1), rank(1, "never heard of", null)])).toBe(false);
});

test("the end of a run is told, and when it was heard of last", () => {
  expect(endOf([rank(0, "ended", 1), rank(1, "ended", 1)])).toBe("Every rank ended in order.");
  expect(endOf([rank(0, "died", 1), rank(1, "died", 1)])).toBe("Every rank died.");
  expect(endOf([rank(0, "died", 1)])).toBe("1 rank died.");
  expect(endOf([rank(0, "died", 1), rank(1, "ended", 1)])).toBe("1 rank died.");
  expect(endOf([rank(0, "cut short", 1)])).toBe("Not every rank is known to have ended in order.");
  expect(lastHeard([rank(2, "ended", 1), { ...rank(7, "never heard of", null), heard_time_ns: null }])).toBe(2e9);
  expect(lastHeard([])).toBe(0);
});

test("who ended in order is at work on nothing", () => {
  expect(workOf(rank(0, "ended", 1)).op).toBe("");
  expect(workOf(rank(0, "died", 1)).op).toBe("Torch.mul.0.forward");
});

test("few seconds have a digit, none are negative, and many are minutes, hours or days", () => {
  expect([seconds(null), seconds(-0.2), seconds(3.14), seconds(72.6)]).toEqual(["–", "0.0 s", "3.1 s", "73 s"]);
  expect([seconds(119), seconds(120), seconds(7_300), seconds(200_000)]).toEqual(["119 s", "2 min", "2 h", "2 d"]);
});
