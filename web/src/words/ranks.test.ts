import { expect, test } from "vitest";
import { rankKind } from "./ranks";

test("a state has its mark, and one that is not known is shown by its own word", () => {
  expect(rankKind("silent")).toMatchObject({ word: "silent", mark: "◌" });
  expect(rankKind("brand new")).toMatchObject({ word: "brand new", mark: "·" });
});
