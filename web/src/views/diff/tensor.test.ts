import { expect, test } from "vitest";
import type { Explained } from "../../api/answers";
import { errorOf, shapeOf, userFirst } from "./tensor";

const tensor = {
  problem_dtype: "torch.float32",
  problem_shape: [2, 128],
  bench_dtype: "",
  bench_shape: [],
  bench_literal: "1e-06",
  error: 0.25,
  error_low: 0.2,
  error_high: "Infinity",
  tolerance: 1e-6,
  evidence: "statistics",
  reason: "",
} as unknown as Explained;

test("a tensor is its dtype and shape, an argument its value", () => {
  expect([shapeOf(tensor, "problem"), shapeOf(tensor, "bench")]).toEqual(["torch.float32 [2, 128]", "1e-06"]);
  expect(shapeOf({ ...tensor, bench_literal: "", bench_kind: "none" }, "bench")).toBe("none");
  expect(shapeOf({ ...tensor, bench_literal: "", bench_kind: "" }, "bench")).toBe("–");
  expect(shapeOf({ ...tensor, problem_shape: "[2,4]" }, "problem")).toBe("torch.float32 [2,4]");
});

test("an error is said with its bound, its interval and its evidence", () => {
  expect(errorOf(tensor)).toBe("error at least 0.25, tolerated 1e−6, by statistics");
  expect(errorOf({ ...tensor, evidence: "sketch", error_high: 0.3 })).toBe("error 0.25, between 0.2 and 0.3, tolerated 1e−6, by sketch");
  expect(errorOf({ ...tensor, error: null, tolerance: null, evidence: "none", reason: "recorded in more detail" })).toBe(
    "recorded in more detail",
  );
});

test("frames of the user's own code come first", () => {
  const frames = [
    "File /x/site-packages/torch/nn.py",
    "File /home/u/train.py, line 3",
    "File /usr/lib/python3.11/runpy.py",
    "File /home/u/main.py",
  ];
  expect(userFirst(frames).map((f) => [f.own, f.frame.split(",")[0]])).toEqual([
    [true, "File /home/u/train.py"],
    [true, "File /home/u/main.py"],
    [false, "File /x/site-packages/torch/nn.py"],
    [false, "File /usr/lib/python3.11/runpy.py"],
  ]);
});
