import { expect, test } from "vitest";
import { kinds } from "../../words/verdicts";
import { countsOf, dtypesOf, inModule, nextDiffering, rowsOf, Sequence, worstByPixel, type Filter } from "./sequence";

const ops = [
  { problem_op: "embed.0", bench_op: "embed.0", module: "model.embed", verdict: "same", dtype: "torch.int64" },
  {
    problem_op: "linear.0",
    bench_op: "linear.0",
    module: "model.layers.1.mlp",
    verdict: "diverged",
    dtype: "torch.float32 torch.bfloat16",
  },
  { problem_op: "silu.0", bench_op: "", module: "model.layers.1.mlp", verdict: "only_problem", dtype: "torch.float32" },
  { problem_op: "", bench_op: "gelu.0", module: "model.layers.10.mlp", verdict: "only_bench", dtype: "" },
  { problem_op: "linear.1", bench_op: "linear.1", module: "model.layers.10.mlp", verdict: "not_finite", dtype: "torch.float32" },
  { problem_op: "<script>.0", bench_op: "<script>.0", module: "", verdict: "same", dtype: "" },
];

function sequenceOf(rows: Record<string, unknown>[]): Sequence {
  const column = (name: string) => ({ get: (i: number) => rows[i]?.[name] });
  return new Sequence(rows.length, Object.fromEntries(Object.keys(rows[0] ?? {}).map((name) => [name, column(name)])));
}

const all: Filter = { verdicts: [], module: "", dtype: "", find: "" };
const s = sequenceOf(ops);

function found(f: Partial<Filter>): number[] {
  return [...rowsOf(s, { ...all, ...f })];
}

test("rows are filtered by verdict, module, dtype and text", () => {
  expect(found({})).toEqual([0, 1, 2, 3, 4, 5]);
  expect(found({ verdicts: ["only_problem", "only_bench"] })).toEqual([2, 3]);
  expect(found({ module: "layers.1" })).toEqual([1, 2]);
  expect(found({ dtype: "torch.float32" })).toEqual([1, 2, 4]);
  expect(found({ find: "GELU" })).toEqual([3]);
  expect(found({ find: "layers.10", verdicts: ["not_finite"] })).toEqual([4]);
  expect(found({ find: "<script>" })).toEqual([5]);
  expect(found({ find: "nothing has this" })).toEqual([]);
});

test("a module holds what is in it, and not its namesake", () => {
  expect(inModule("model.layers.1.mlp", "layers.1")).toBe(true);
  expect(inModule("model.layers.10.mlp", "layers.1")).toBe(false);
  expect(inModule("", "layers.1")).toBe(false);
});

test("n and p step through what differs, around the ends", () => {
  const rows = rowsOf(s, all);
  expect(nextDiffering(s, rows, 0, 1)).toBe(1);
  expect(nextDiffering(s, rows, 1, 1)).toBe(4);
  expect(nextDiffering(s, rows, 4, 1)).toBe(1);
  expect(nextDiffering(s, rows, 1, -1)).toBe(4);
  expect(nextDiffering(s, rowsOf(s, { ...all, verdicts: ["same"] }), 0, 1)).toBe(-1);
  expect(nextDiffering(s, new Uint32Array(), 0, 1)).toBe(-1);
  expect(s.firstDiffering()).toBe(1);
});

test("a row is known by the op that either run has", () => {
  expect([s.op(0), s.op(3), s.rowOf("gelu.0"), s.rowOf("no such op")]).toEqual(["embed.0", "gelu.0", 3, -1]);
  expect(sequenceOf([{ problem_op: new TextEncoder().encode("bytes.0"), verdict: "same" }]).op(0)).toBe("bytes.0");
  expect(sequenceOf([{ verdict: "same", error: null }]).number("error", 0)).toBeNull();
});

test("a pixel of the map shows the worst of its rows, and none where there are none", () => {
  const names = (pixels: number) => [...worstByPixel(s, rowsOf(s, all), pixels)].map((c) => kinds[c]?.name ?? "none");
  expect(names(1)).toEqual(["not_finite"]);
  expect(names(3)).toEqual(["diverged", "only_problem", "not_finite"]);
  expect(names(12).filter((n) => n === "none")).toHaveLength(6);
});

test("verdicts are counted, and dtypes listed once", () => {
  expect([...countsOf(s)].map(([code, n]) => [kinds[code]?.name, n])).toContainEqual(["same", 2]);
  expect(dtypesOf(s)).toEqual(["torch.bfloat16", "torch.float32", "torch.int64"]);
});
