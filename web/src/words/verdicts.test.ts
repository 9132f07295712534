import { expect, test } from "vitest";
import { codeOf, differing, kindOf, kinds, runKind, stateKind, whyNoError } from "./verdicts";

test("every verdict has a mark of its own, so colour says nothing alone", () => {
  expect(new Set(kinds.map((k) => k.mark)).size).toBe(kinds.length);
});

test("a verdict that is not known is shown by its own word", () => {
  expect(kindOf("brand_new").word).toBe("brand new");
  expect(kindOf("agrees")).toMatchObject({ mark: "=", word: "agrees" });
  expect(kinds[codeOf("brand_new")]?.name).toBe("same");
});

test("people step through what differs, and not through what stands alone", () => {
  expect([...differing].map((c) => kinds[c]?.name)).toEqual(["not_finite", "diverged", "structure"]);
});

test("runs have their own words", () => {
  expect([runKind("agrees").word, runKind("differs").mark, runKind("no bench").word]).toEqual(["the same", "≠", "no bench"]);
  expect([stateKind("running").word, stateKind("died").mark, stateKind("incomplete").word]).toEqual(["live", "✗", "incomplete"]);
});

test("a blank in the place of an error says why", () => {
  expect(whyNoError(codeOf("same"))).toContain("agrees");
  expect(new Set(kinds.map((_, code) => whyNoError(code))).size).toBe(kinds.length);
});
