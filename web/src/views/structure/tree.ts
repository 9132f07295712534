// The modules of both runs as a tree, with the ops that ran in them. It is made of the ops of one step, in one pass.
import { differing, kinds } from "../../words/verdicts";
import type { Sequence } from "../diff/sequence";

export interface Node {
  id: number;
  name: string; // last part of the module's path, or the op
  path: string; // of the module; of an op its name
  bench: string; // the same of the bench; empty where it has none
  inProblem: boolean;
  row: number; // of an op in the sequence; -1 of a module
  isCall: boolean; // an op that is the module itself
  parent: number; // -1 at the top
  depth: number;
  children: number[];
  ops: number; // in it
  worst: number; // code of the worst verdict in it
  differing: number; // ops in it
  error: number | null; // the greatest in it
  level: number; // the worst level of overflow in it, as in levels.ts; 0 for none
}

export interface Tree {
  nodes: Node[];
  top: number[];
  ofRow: Int32Array; // the node of each op
}

export const outside = "outside of modules";
const same = kinds.length - 1;

export function treeOf(s: Sequence, levels: ReadonlyMap<string, number> = new Map()): Tree {
  const growing = new Growing(s);
  for (let row = 0; row < s.length; row++) growing.place(row);
  for (let row = 0; row < s.length; row++) tell(growing, s, row, levels.get(s.text("problem_op", row)) ?? 0);
  return growing.tree();
}

/** Adds what one op came to to all that it is in. */
function tell({ nodes, ofRow }: Growing, s: Sequence, row: number, level: number): void {
  const code = s.codes[row] ?? same;
  const error = s.number("error", row);
  const [here, there] = [s.text("problem_op", row) !== "", s.text("bench_op", row) !== ""];
  for (let at = nodes[ofRow[row] ?? -1]; at !== undefined; at = nodes[at.parent]) {
    at.ops++;
    at.worst = Math.min(at.worst, code);
    at.level = Math.max(at.level, level);
    if (differing.has(code)) at.differing++;
    if (error !== null && !Number.isNaN(error)) at.error = Math.max(at.error ?? 0, error);
    at.inProblem ||= here;
    if (there && at.bench === "") at.bench = at.path;
  }
}

class Growing {
  readonly nodes: Node[] = [];
  readonly ofRow: Int32Array;
  readonly #s: Sequence;
  readonly #rows: Map<number, number>; // by position
  readonly #modules = new Map<string, number>();
  readonly #top: number[] = [];

  constructor(s: Sequence) {
    this.#s = s;
    this.ofRow = new Int32Array(s.length).fill(-1);
    this.#rows = new Map(Array.from({ length: s.length }, (_, row) => [s.number("position", row) ?? row, row]));
  }

  /** The node of an op, made under that of its parent; ops that call each other in a ring, which no run has, stand at the top. */
  place(row: number, below = 0): number {
    const placed = this.ofRow[row] ?? -1;
    if (placed >= 0) return placed;
    const deepest = 50;
    const parent = below < deepest ? this.#parent(row, below) : -1;
    const again = this.ofRow[row] ?? -1;
    if (again >= 0) return again;
    const isCall = this.#s.text("level", row) === "module";
    const op = this.#s.op(row);
    const node = this.#add(parent, { name: isCall ? callOf(op) : op, path: op, bench: this.#s.text("bench_op", row), row, isCall });
    this.ofRow[row] = node.id;
    if (isCall) this.#nameBench(node, row);
    return node.id;
  }

  #parent(row: number, below: number): number {
    const module = this.#s.text("module", row);
    if (this.#s.text("level", row) === "module") return this.#module(module);
    const position = this.#s.number("parent_position", row);
    const parent = position === null ? undefined : this.#rows.get(position);
    if (parent === undefined) return this.#module(module || outside);
    if (this.#s.text("level", parent) === "module") return this.#module(this.#s.text("module", parent));
    return this.place(parent, below + 1);
  }

  #module(path: string): number {
    const known = this.#modules.get(path);
    if (known !== undefined) return known;
    const at = path === outside ? -1 : path.lastIndexOf(".");
    const parent = at < 0 ? -1 : this.#module(path.slice(0, at));
    const node = this.#add(parent, { name: path.slice(at + 1) || "the model", path, bench: "", row: -1, isCall: false });
    this.#modules.set(path, node.id);
    return node.id;
  }

  /** A module that bears another name in the bench is known by its calls there. */
  #nameBench(node: Node, row: number): void {
    const bench = this.#s.text("bench_op", row);
    const module = this.nodes[node.parent];
    if (module !== undefined && bench !== "") module.bench = bench === node.path ? module.path : moduleOf(bench);
  }

  #add(parent: number, given: Pick<Node, "name" | "path" | "bench" | "row" | "isCall">): Node {
    const depth = (this.nodes[parent]?.depth ?? -1) + 1;
    const empty = { children: [], ops: 0, worst: same, differing: 0, error: null, level: 0, inProblem: false };
    const node: Node = { id: this.nodes.length, parent, depth, ...given, ...empty };
    this.nodes.push(node);
    (this.nodes[parent]?.children ?? this.#top).push(node.id);
    return node;
  }

  /** Calls of a module stand before what it called. Where nothing is in a module, ops stand at the top. */
  tree(): Tree {
    for (const node of this.nodes) {
      if (!node.children.some((c) => this.nodes[c]?.isCall)) continue;
      node.children = [true, false].flatMap((calls) => node.children.filter((c) => this.nodes[c]?.isCall === calls));
    }
    const only = this.nodes[this.#top[0] ?? -1];
    if (this.#top.length !== 1 || only?.path !== outside) return { nodes: this.nodes, top: this.#top, ofRow: this.ofRow };
    for (const node of this.nodes) node.depth--;
    for (const child of only.children) (this.nodes[child] as Node).parent = -1;
    return { nodes: this.nodes, top: only.children, ofRow: this.ofRow };
  }
}

/** Module.model.layers.0.mlp.LlamaMLP.forward.0 is a forward.0 of LlamaMLP. */
function callOf(op: string): string {
  const [type, phase, call] = op.split(".").slice(-3);
  return call === undefined ? op : `${phase ?? ""}.${call} of ${type ?? ""}`;
}

export function moduleOf(call: string): string {
  return call.split(".").slice(1, -3).join(".");
}
