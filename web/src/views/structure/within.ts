// Questions to the tree.
import type { Sequence } from "../diff/sequence";
import type { Node, Tree } from "./tree";

/** Nodes from the top to this one. */
export function pathTo(tree: Tree, id: number): Node[] {
  const path: Node[] = [];
  for (let at = tree.nodes[id]; at !== undefined; at = tree.nodes[at.parent]) path.unshift(at);
  return path;
}

/** Modules that repeat, as layers.0 to layers.31: those whose names are numbers, if there are several. */
export function repeated(tree: Tree, node: Node): Node[] {
  if (node.row >= 0) return [];
  const numbered = node.children.flatMap((c) => {
    const child = tree.nodes[c];
    return child !== undefined && child.row < 0 && /^\d+$/.test(child.name) ? [child] : [];
  });
  return numbered.length > 1 ? numbered : [];
}

/** The name of a row: layers.0 … 31 for what repeats; of an op that bears one name in both runs without Functional, Tensor and the like, which its title has. */
export function wordsOf(node: Node, layers: Node[]): string {
  if (layers.length > 0) return `${node.name}.${layers[0]?.name ?? ""} … ${layers.at(-1)?.name ?? ""}`;
  const named = node.row < 0 || node.isCall || (node.bench !== "" && node.bench !== node.path);
  return named ? node.name : node.name.slice(node.name.indexOf(".") + 1);
}

/** The node of an op's name or of a module's path; -1 where there is none. */
export function nodeOf(tree: Tree, path: string): number {
  return tree.nodes.find((n) => n.path === path)?.id ?? -1;
}

/** All that is in a node, and itself. */
export function* within(tree: Tree, node: Node): Generator<Node> {
  const stack = [node.id];
  for (let id = stack.pop(); id !== undefined; id = stack.pop()) {
    const at = tree.nodes[id];
    if (at === undefined) continue;
    yield at;
    for (const child of at.children) stack.push(child);
  }
}

/** The first of its ops in the sequence. */
export function firstRow(tree: Tree, node: Node): number {
  let first = -1;
  for (const { row } of within(tree, node)) if (row >= 0 && (first < 0 || row < first)) first = row;
  return first;
}

/** How many of its ops came to which verdict, by code. */
export function countsIn(tree: Tree, s: Sequence, node: Node): Map<number, number> {
  const counts = new Map<number, number>();
  for (const { row } of within(tree, node)) if (row >= 0) counts.set(s.codes[row] ?? 0, (counts.get(s.codes[row] ?? 0) ?? 0) + 1);
  return new Map([...counts].sort(([a], [b]) => a - b));
}

/** The first of its ops that differ. */
export function firstDiffering(tree: Tree, node: Node, most: number): Node[] {
  const found = [...within(tree, node)].filter((n) => n.row >= 0 && n.children.length === 0 && n.differing > 0);
  return found.sort((a, b) => a.row - b.row).slice(0, most);
}
