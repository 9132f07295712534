import { expect, test } from "vitest";
import { drawable } from "./chart";

test("columns of numbers are drawn over the first of them, in its order", () => {
  const drawn = drawable(
    ["run", "step", "error", "count"],
    [
      ["a", 2, "NaN", 1],
      ["a", 1, 0.5, null],
    ],
  );
  expect(drawn).toEqual({
    x: "step",
    y: ["error", "count"],
    data: [
      [1, 2],
      [0.5, null],
      [null, 1],
    ],
  });
});

test("what has no two columns of numbers, or one row, is no chart", () => {
  expect(
    drawable(
      ["run", "step"],
      [
        ["a", 1],
        ["b", 2],
      ],
    ),
  ).toBeNull();
  expect(drawable(["x", "y"], [[1, 2]])).toBeNull();
  expect(drawable([], [])).toBeNull();
});
