import { expect, test } from "vitest";
import { keep, keptOf } from "./kept";

test("the latest answers are kept, each for its own question", () => {
  keep({ name: "a" }, 1, 1);
  expect(keptOf({ name: "a" })).toBeUndefined();
  for (let i = 0; i < 9; i++) keep({ name: String(i), kept: "ops" }, i, 3);
  expect(keptOf({ name: "0", kept: "ops" })).toBeUndefined();
  expect(keptOf({ name: "8", kept: "ops" })).toEqual({ value: 8, beat: 3 });
  expect(keptOf({ name: "8", kept: "verdict" })).toBeUndefined();
});
