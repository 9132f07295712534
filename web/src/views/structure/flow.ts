// The graph of one module: what is directly in it, and which hands a tensor to which.
import type { Sequence } from "../diff/sequence";
import type { Node, Tree } from "./tree";
import { pathTo, within } from "./within";

/** A tensor that an op took, and the op that gave it: a row of the report flow. */
export interface Handed {
  op: string;
  role: string;
  path: string;
  dtype: string;
  shape: string | number[];
  from_op: string;
}

export type Side = "problem" | "bench";

export interface Edge {
  from: string; // id of a box
  to: string;
  tensors: string[]; // dtype and shape
  sides: Side[];
}

export interface Box {
  id: string;
  node: Node | null; // null for what comes in and goes out
}

export interface Graph {
  boxes: Box[];
  edges: Edge[];
  left: number; // boxes that are not shown, of too many
}

export const [comesIn, goesOut] = ["in", "out"];
export const most = 150; // boxes that one can still look at

/** The graph of a module in a phase. Ops that are known in both runs are one box. */
export function graphOf(tree: Tree, s: Sequence, module: Node, phase: string, handed: Partial<Record<Side, Handed[]>>): Graph {
  const inside = module.children
    .map((c) => tree.nodes[c])
    .filter((n) => n !== undefined && !n.isCall && phasesOf(tree, s, n).has(phase)) as Node[];
  const shown = new Map(inside.slice(0, most).map((node) => [node.id, { id: String(node.id), node }]));
  const edges = new Map<string, Edge>();
  for (const side of ["problem", "bench"] as const) {
    const rows = rowsByOp(s, side);
    for (const one of handed[side] ?? []) {
      const to = boxOf(tree, module, rows.get(one.op), shown, one.role === "output" ? goesOut : null);
      const from = boxOf(tree, module, rows.get(one.from_op), shown, comesIn);
      if (to === null || from === null || to === from || !inPhase(s, rows.get(one.op), phase)) continue;
      note(edges, from, to, side, `${one.dtype} ${shapeOf(one.shape)}`);
    }
  }
  const linked = [...edges.values()];
  const ends = [comesIn, goesOut].filter((end) => linked.some((e) => e.from === end || e.to === end));
  const boxes: Box[] = [...shown.values(), ...ends.map((id) => ({ id, node: null }))];
  return { boxes, edges: linked, left: inside.length - shown.size };
}

function note(edges: Map<string, Edge>, from: string, to: string, side: Side, tensor: string): void {
  const key = `${from} ${to}`;
  const edge = edges.get(key) ?? { from, to, tensors: [], sides: [] };
  if (!edge.tensors.includes(tensor)) edge.tensors.push(tensor);
  if (!edge.sides.includes(side)) edge.sides.push(side);
  edges.set(key, edge);
}

/** The box that an op is in. Calls of the module itself stand for what goes out; what the module takes is no edge of its own. */
function boxOf(tree: Tree, module: Node, row: number | undefined, shown: Map<number, Box>, end: string | null): string | null {
  if (row === undefined) return end === comesIn ? null : end;
  const path = pathTo(tree, tree.ofRow[row] ?? -1);
  const at = path.findIndex((n) => n.id === module.id);
  if (at < 0) return end === comesIn ? comesIn : null;
  const child = path[at + 1];
  if (child === undefined || child.isCall) return end === goesOut ? goesOut : null;
  return shown.get(child.id)?.id ?? null;
}

function inPhase(s: Sequence, row: number | undefined, phase: string): boolean {
  return row !== undefined && s.text("phase", row) === phase;
}

function rowsByOp(s: Sequence, side: Side): Map<string, number> {
  const rows = new Map<string, number>();
  for (let row = 0; row < s.length; row++) {
    const op = s.text(`${side}_op`, row);
    if (op !== "") rows.set(op, row);
  }
  return rows;
}

/** Phases of the ops of a node, as forward and backward. */
export function phasesOf(tree: Tree, s: Sequence, node: Node): Set<string> {
  const phases = new Set<string>();
  for (const { row } of within(tree, node)) if (row >= 0) phases.add(s.text("phase", row));
  return phases;
}

function shapeOf(shape: string | number[]): string {
  return typeof shape === "string" ? shape : `[${shape.join(",")}]`;
}
