import { expect, test } from "vitest";
import { kinds } from "../../words/verdicts";
import { Sequence } from "../diff/sequence";
import { graphOf, phasesOf, type Handed } from "./flow";
import { levels, levelsOf } from "./levels";
import { treeOf } from "./tree";
import { isWanted, openedFirst, visible, type Wanted } from "./visible";
import { firstDiffering, firstRow, nodeOf, pathTo, repeated, within, wordsOf } from "./within";

interface Op {
  problem_op: string;
  bench_op?: string;
  level?: string;
  module?: string;
  parent_position?: number;
  verdict?: string;
  error?: number;
  phase?: string;
}

/** Two layers, each a module with a linear; the linear of the second calls an ATen op and differs; the bench lacks one op. */
const ops: Op[] = [
  { problem_op: "Functional.linear.0.forward", module: "model.layers.0", parent_position: 1 },
  { problem_op: "Module.model.layers.0.Layer.forward.0", level: "module", module: "model.layers.0", parent_position: 6 },
  { problem_op: "Aten.mm.1.forward", level: "aten", parent_position: 3, verdict: "diverged", error: 0.25 },
  { problem_op: "Functional.linear.1.forward", module: "model.layers.1", parent_position: 5, verdict: "diverged", error: 0.5 },
  { problem_op: "Functional.silu.0.forward", bench_op: "", module: "model.layers.1", parent_position: 5, verdict: "only_problem" },
  {
    problem_op: "Module.model.layers.1.Layer.forward.0",
    bench_op: "Module.model.blocks.1.Block.forward.0",
    level: "module",
    module: "model.layers.1",
    parent_position: 6,
    verdict: "diverged",
    error: Number.NaN,
  },
  { problem_op: "Module.model.Model.forward.0", level: "module", module: "model" },
  { problem_op: "Tensor.add_.0.forward", phase: "optimizer" },
  { problem_op: "Functional.linear.1.backward", module: "model.layers.1", phase: "backward" },
];

function sequenceOf(rows: Op[]): Sequence {
  const usual = { level: "api", module: "", verdict: "same", phase: "forward", parent_position: null, error: null };
  const whole: Record<string, unknown>[] = rows.map((op, position) => ({ ...usual, bench_op: op.problem_op, position, ...op }));
  const column = (name: string) => ({ get: (i: number) => whole[i]?.[name] });
  return new Sequence(rows.length, Object.fromEntries(Object.keys(whole[0] ?? {}).map((name) => [name, column(name)])));
}

const s = sequenceOf(ops);
const tree = treeOf(s, new Map([["Aten.mm.1.forward", 3]]));
const named = (path: string) => tree.nodes[nodeOf(tree, path)] ?? expect.fail(`no node ${path}`);
const all: Wanted = { verdicts: [], module: "", dtype: "", find: "", level: 0 };
const shown = (w: Partial<Wanted>, turned = new Map<number, boolean>()) => visible(tree, s, { ...all, ...w }, turned);

test("ops stand in the module that called them, an ATen op in its API, and the module's calls first", () => {
  expect(pathTo(tree, nodeOf(tree, "Aten.mm.1.forward")).map((n) => n.name)).toEqual([
    "model",
    "layers",
    "1",
    "Functional.linear.1.forward",
    "Aten.mm.1.forward",
  ]);
  expect(named("model").children.map((c) => tree.nodes[c]?.name)).toEqual(["forward.0 of Model", "layers"]);
  expect(tree.top.map((t) => tree.nodes[t]?.name)).toEqual(["model", "outside of modules"]);
});

test("what an op came to is told of all that it is in", () => {
  const layer = named("model.layers.1");
  expect([kinds[layer.worst]?.name, layer.error, layer.ops, layer.differing, layer.level]).toEqual(["diverged", 0.5, 5, 3, 3]);
  expect(kinds[named("model.layers.0").worst]?.name).toBe("same");
  expect([named("model").error, named("model").ops, named("model").level]).toEqual([0.5, 8, 3]);
  expect(firstRow(tree, layer)).toBe(2);
  expect(firstDiffering(tree, layer, 1).map((n) => n.path)).toEqual(["Aten.mm.1.forward"]);
  expect([...within(tree, layer)]).toHaveLength(6);
});

test("a module knows its name in the bench, and what the bench lacks has none", () => {
  expect([named("model.layers.0").bench, named("model.layers.1").bench]).toEqual(["model.layers.0", "model.blocks.1"]);
  expect([named("Functional.silu.0.forward").bench, named("Functional.silu.0.forward").inProblem]).toEqual(["", true]);
  const there = treeOf(sequenceOf([{ problem_op: "", bench_op: "Functional.gelu.0.forward", module: "mlp", verdict: "only_bench" }]));
  expect(there.nodes.map((n) => [n.path, n.inProblem, n.bench])).toEqual([
    ["mlp", false, "mlp"],
    ["Functional.gelu.0.forward", false, "Functional.gelu.0.forward"],
  ]);
});

test("layers that repeat are one row with all of them", () => {
  const layers = named("model.layers");
  expect(repeated(tree, layers).map((l) => l.path)).toEqual(["model.layers.0", "model.layers.1"]);
  expect(wordsOf(layers, repeated(tree, layers))).toBe("layers.0 … 1");
  expect(repeated(tree, named("model"))).toEqual([]);
  expect(wordsOf(named("Functional.silu.0.forward"), [])).toBe("silu.0.forward");
});

test("where nothing is in a module, ops stand at the top; parents in a ring do no harm", () => {
  const flat = treeOf(
    sequenceOf([{ problem_op: "a.0" }, { problem_op: "b.0", parent_position: 2 }, { problem_op: "c.0", parent_position: 1 }]),
  );
  expect(flat.nodes.filter((n) => n.row >= 0).length).toBe(3);
  expect(flat.nodes.every((n) => pathTo(flat, n.id).length < 60)).toBe(true);
  const two = treeOf(sequenceOf([{ problem_op: "a.0" }, { problem_op: "b.0" }]));
  expect(two.top.map((t) => [two.nodes[t]?.path, two.nodes[t]?.depth, two.nodes[t]?.parent])).toEqual([
    ["a.0", 0, -1],
    ["b.0", 0, -1],
  ]);
});

test("a filter leaves what passes and the modules around it", () => {
  expect(shown({}).nodes.map((n) => n.path)).toEqual(["model", "outside of modules"]);
  expect(shown({ verdicts: ["only_problem"] })).toMatchObject({ found: 1 });
  expect(shown({ find: "SILU" }).nodes.map((n) => n.path)).toEqual([
    "model",
    "model.layers",
    "model.layers.1",
    "Functional.silu.0.forward",
  ]);
  expect(
    shown({ level: 3 })
      .nodes.map((n) => n.path)
      .at(-1),
  ).toBe("Aten.mm.1.forward");
  expect(shown({ find: "silu" }, new Map([[nodeOf(tree, "model"), false]])).nodes).toHaveLength(1);
  expect(shown({ find: "nothing has this" }).nodes).toEqual([]);
  expect([isWanted(all), isWanted({ ...all, level: 1 })]).toEqual([false, true]);
});

test("at first the way to what is looked at is open", () => {
  const turned = openedFirst(tree, nodeOf(tree, "Functional.linear.1.forward"));
  expect(shown({}, new Map(turned)).nodes.map((n) => n.path)).toContain("Functional.linear.1.forward");
});

test("levels of overflow have their order, and an unknown one is none", () => {
  expect(levels.map((l) => l.name)).toEqual(["", "medium", "high", "critical"]);
  expect([
    ...levelsOf([
      { op: "a", level: "high" },
      { op: "b", level: "new" },
    ]),
  ]).toEqual([
    ["a", 2],
    ["b", 0],
  ]);
});

function handed(op: string, from: string, role = "input"): Handed {
  return { op, role, path: "0", dtype: "torch.float32", shape: [2, 4], from_op: from };
}

test("the graph of a module has what is directly in it, with what comes in and goes out", () => {
  const flow = [
    handed("Functional.linear.1.forward", "Module.model.layers.0.Layer.forward.0"),
    handed("Aten.mm.1.forward", "Module.model.layers.0.Layer.forward.0"),
    handed("Functional.silu.0.forward", "Functional.linear.1.forward"),
    handed("Module.model.layers.1.Layer.forward.0", "Functional.silu.0.forward", "output"),
    handed("Module.model.layers.1.Layer.forward.0", "Module.model.layers.0.Layer.forward.0"),
    handed("Functional.linear.1.backward", "nobody.knows"),
  ];
  const graph = graphOf(tree, s, named("model.layers.1"), "forward", { problem: flow, bench: flow.slice(0, 1) });
  const name = (id: string) => tree.nodes[Number(id)]?.name ?? id;
  expect(graph.boxes.map((b) => name(b.id))).toEqual(["Functional.linear.1.forward", "Functional.silu.0.forward", "in", "out"]);
  expect(graph.edges.map((e) => [name(e.from), name(e.to), e.sides, e.tensors])).toEqual([
    ["in", "Functional.linear.1.forward", ["problem", "bench"], ["torch.float32 [2,4]"]],
    ["Functional.linear.1.forward", "Functional.silu.0.forward", ["problem"], ["torch.float32 [2,4]"]],
    ["Functional.silu.0.forward", "out", ["problem"], ["torch.float32 [2,4]"]],
  ]);
  expect(phasesOf(tree, s, named("model.layers.1"))).toEqual(new Set(["forward", "backward"]));
});

test("around it, a submodule is one box whatever is in it", () => {
  const flow = [
    handed("Aten.mm.1.forward", "Functional.linear.0.forward"),
    handed("Functional.silu.0.forward", "Functional.linear.1.forward"),
  ];
  const graph = graphOf(tree, s, named("model.layers"), "forward", { problem: flow });
  expect(graph.edges).toHaveLength(1);
  expect(graph.boxes.map((b) => b.node?.name)).toEqual(["0", "1"]);
});

test("a hundred thousand ops are a tree, and more in one module than a call takes arguments", { timeout: 300_000 }, () => {
  const layers = Array.from({ length: 100_000 }, (_, i): Op => ({ problem_op: `f.${String(i)}`, module: `layers.${String(i % 1_000)}` }));
  const outer = Array.from({ length: 150_000 }, (_, i): Op => ({ problem_op: `g.${String(i)}` }));
  const many = sequenceOf([...layers, ...outer]);
  const big = treeOf(many);
  const root = big.nodes[nodeOf(big, "outside of modules")] ?? expect.fail("nothing is outside");
  expect([big.nodes.length, [...within(big, root)].length]).toEqual([251_002, 150_001]);
  expect(visible(big, many, all, new Map(big.nodes.map((n) => [n.id, true]))).nodes).toHaveLength(251_002);
});
