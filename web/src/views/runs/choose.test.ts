import { expect, test } from "vitest";
import type { RunOverview } from "../../api/answers";
import { asBench, asProblem, grouped, labelKeys, matching } from "./choose";

function run(name: string, more: Partial<RunOverview> = {}): RunOverview {
  return { run: name, status: "ended", verdict: "no bench", model: "", source: "msprobe", dtype: "", labels: {}, ...more } as RunOverview;
}

const runs = [
  run("nightly-7", { verdict: "differs", labels: { team: "vision" } }),
  run("nightly-6", { verdict: "agrees", status: "running", labels: { team: "vision", host: "a" } }),
  run("<script>", { model: "Qwen3" }),
];

function names(of: RunOverview[]): string[] {
  return of.map((r) => r.run);
}

test("runs are found by every word, wherever it stands", () => {
  expect(names(matching(runs, "  "))).toHaveLength(3);
  expect(names(matching(runs, "nightly DIFFERS"))).toEqual(["nightly-7"]);
  expect(names(matching(runs, "team=vision live"))).toEqual(["nightly-6"]);
  expect(names(matching(runs, "qwen"))).toEqual(["<script>"]);
  expect(matching(runs, "nightly qwen")).toEqual([]);
});

test("runs are grouped by a label, those without it too", () => {
  expect(labelKeys(runs)).toEqual(["host", "team"]);
  expect(grouped(runs, "team").map((g) => [g.label, g.runs.length])).toEqual([
    ["vision", 2],
    ["no team", 1],
  ]);
  expect(grouped(runs, "")).toEqual([{ label: "", runs }]);
});

test("a run is on one side at a time, and a second click takes it back", () => {
  let chosen = asProblem({ problem: "", benches: ["a"] }, "a");
  expect(chosen).toEqual({ problem: "a", benches: [] });
  chosen = asBench(asBench(chosen, "b"), "c");
  expect(chosen).toEqual({ problem: "a", benches: ["b", "c"] });
  expect(asBench(chosen, "b")).toEqual({ problem: "a", benches: ["c"] });
  expect(asBench(chosen, "a")).toEqual({ problem: "", benches: ["b", "c", "a"] });
  expect(asProblem(chosen, "a")).toEqual({ problem: "", benches: ["b", "c"] });
});
