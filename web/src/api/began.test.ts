import { expect, test } from "vitest";
import { firstOf } from "./began";

const at = (step: number, verdict: string) => ({ rank: 0, step, op: `op${String(step)}`, verdict });

test("what is meant to be infinite is no beginning", () => {
  expect(firstOf([at(0, "known exception"), at(3, "passed on"), at(4, "origin")])).toEqual({ rank: 0, step: 3, op: "op3" });
  expect(firstOf([at(0, "known exception")])).toBeNull();
  expect(firstOf([])).toBeNull();
});
