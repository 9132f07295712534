// Which nodes of the tree are shown, in order.
import { rowsOf, type Filter, type Sequence } from "../diff/sequence";
import type { Node, Tree } from "./tree";

export interface Wanted extends Filter {
  level: number; // the least level of overflow; 0 for all
}

/** What a person opened or closed; all else is as it is by itself. */
export type Turned = ReadonlyMap<number, boolean>;

export interface Shown {
  nodes: Node[];
  found: number; // ops that pass
}

/** Modules that hold nothing wanted are left out; those that do are open while something is wanted. */
export function visible(tree: Tree, s: Sequence, wanted: Wanted, turned: Turned): Shown {
  const passing = isWanted(wanted) ? passingOf(tree, s, wanted) : null;
  const open = (id: number) => turned.get(id) ?? passing !== null;
  const nodes: Node[] = [];
  const stack = [...tree.top].reverse();
  for (let id = stack.pop(); id !== undefined; id = stack.pop()) {
    const node = tree.nodes[id];
    if (node === undefined || (passing !== null && passing.nodes[id] === 0)) continue;
    nodes.push(node);
    if (open(id)) for (let i = node.children.length - 1; i >= 0; i--) stack.push(node.children[i] ?? -1);
  }
  return { nodes, found: passing?.ops ?? s.length };
}

export function isWanted(w: Wanted): boolean {
  return w.verdicts.length > 0 || w.module !== "" || w.dtype !== "" || w.find !== "" || w.level > 0;
}

/** Marks the nodes that pass, or hold something that does. */
function passingOf(tree: Tree, s: Sequence, wanted: Wanted): { nodes: Uint8Array; ops: number } {
  const nodes = new Uint8Array(tree.nodes.length);
  let ops = 0;
  for (const row of rowsOf(s, wanted)) {
    let at = tree.nodes[tree.ofRow[row] ?? -1];
    if (at === undefined || at.level < wanted.level) continue;
    ops++;
    for (; at !== undefined && nodes[at.id] === 0; at = tree.nodes[at.parent]) nodes[at.id] = 1;
  }
  return { nodes, ops };
}

export function turn(turned: Turned, id: number, open: boolean): Turned {
  return new Map(turned).set(id, open);
}

/** What is opened so that a node is seen. */
export function openedTo(tree: Tree, turned: Turned, id: number): Turned {
  const opened = new Map(turned);
  for (let at = tree.nodes[tree.nodes[id]?.parent ?? -1]; at !== undefined; at = tree.nodes[at.parent]) opened.set(at.id, true);
  return opened;
}

/** At first the top is open, and the way to what is looked at. */
export function openedFirst(tree: Tree, id: number): Turned {
  const opened = new Map(tree.top.map((top) => [top, tree.nodes[top]?.row === -1 && tree.nodes[top].children.length < 100]));
  return id < 0 ? opened : openedTo(tree, opened, id);
}
