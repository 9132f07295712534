import { expect, test } from "vitest";
import { elsewhere, formatAddress, nowhere, parseAddress, renamed, type Address } from "./address";

const hostile = `<script>alert("x")</script>&problem=other#?%00 \u202e\u{1f600} ${"long ".repeat(2000)}`;

test("an address reads back as it was written, whatever runs are called", () => {
  const whole: Address = {
    view: "diff",
    problem: hostile,
    benches: [hostile, "b"],
    rank: 0,
    step: 12,
    op: "a&b=c",
    find: "layers.1 + x",
    verdicts: ["diverged", "unknown"],
    module: "m",
    dtype: "torch.float32",
    level: "high",
    graph: "model.layers.1",
    pairs: [hostile, '["ops","a","b"]'],
    group: "team",
    query: "SELECT 1 -- 'é'",
    statistic: "l2",
    by: "rank",
    order: "tp",
    steps: "3-9",
    places: "0-7",
    ranks: "0,3",
    site: "1 residual stream",
    run: hostile,
    part: "hang",
    from: "1795652530973287272",
    role: "input",
    path: "kwargs.mask",
    slice: "3,0:512,:",
  };
  expect(parseAddress(formatAddress(whole))).toEqual(whole);
  expect(parseAddress(formatAddress(nowhere))).toEqual(nowhere);
});

test("what an address cannot mean is left out", () => {
  const read = parseAddress("?view=nonsense&rank=-3&step=1e9&problem=p&from=yesterday");
  expect(read).toEqual({ ...nowhere, problem: "p" });
});

test("another view keeps the runs and the place, and drops what was searched for", () => {
  const here: Address = { ...nowhere, view: "runs", problem: "p", benches: ["b"], step: 3, find: "x", verdicts: ["diverged"] };
  expect(elsewhere(here, "diff", { op: "o" })).toEqual({ ...nowhere, view: "diff", problem: "p", benches: ["b"], step: 3, op: "o" });
});

test("a run stands in the place of one that is not there, once", () => {
  const a: Address = { ...nowhere, problem: "goldne", benches: ["good", "goood"] };
  expect(renamed(a, "goldne", "golden")).toEqual({ problem: "golden", benches: ["good", "goood"] });
  expect(renamed(a, "goood", "good")).toEqual({ problem: "goldne", benches: ["good"] });
  expect(renamed(a, "goldne", "good")).toEqual({ problem: "good", benches: ["goood"] });
  expect(renamed(a, "goldne", "")).toEqual({ problem: "", benches: ["good", "goood"] });
});
