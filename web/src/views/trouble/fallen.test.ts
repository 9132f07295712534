import { expect, test } from "vitest";
import { laterOf, sentenceOf, type Fallen } from "./fallen";

function rank(more: Partial<Fallen>): Fallen {
  return { rank: 0, how: "ended", step: 3, op: "", module: "", type: "", signal: null, after_seconds: null, ...more } as Fallen;
}

test("the sentence names the first that went, though others are listed before", () => {
  const all = [rank({ how: "running" }), rank({ rank: 2, how: "died", op: "mul.0", module: "layers.1", signal: 9 })];
  expect(sentenceOf("r", all)).toBe("Rank 2 was the first to go: died without a word in step 3, op mul.0 of module layers.1, by signal 9.");
  expect(sentenceOf("r", [rank({ how: "raised", type: "ValueError", step: null })])).toBe("Rank 0 was the first to go: raised ValueError.");
  expect(sentenceOf("r", [rank({ how: "silent" })])).toContain("silent in step 3");
});

test("a run without a crash is said to be well", () => {
  expect(sentenceOf("r", [rank({})])).toContain("ended in order");
  expect(sentenceOf("r", [rank({ how: "running" }), rank({})])).toContain("goes on");
});

test("times are told from the first", () => {
  expect([null, 0, 0.7323, -0.027].map((after_seconds) => laterOf(rank({ after_seconds })))).toEqual([
    "",
    "first",
    "0.732 s later",
    "0.027 s before",
  ]);
});
