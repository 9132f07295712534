// Slices of a tensor, as a program writes them: 3,0:512,: is two axes at index 3 of the first.

export type Part = { index: number } | { from: number; to: number };

/** The parts of a slice that the program has checked. */
export function parseSlice(text: string): Part[] {
  if (text === "") return [];
  return text.split(",").map((part) => {
    const [first = "", last] = part.split(":");
    return last === undefined ? { index: Number(first) } : { from: Number(first), to: Number(last) };
  });
}

export function formatSlice(parts: Part[]): string {
  return parts.map((p) => ("index" in p ? String(p.index) : `${String(p.from)}:${String(p.to)}`)).join(",");
}

/** The same slice with another part for one axis. */
export function withPart(slice: string, axis: number, part: Part): string {
  return formatSlice(parseSlice(slice).with(axis, part));
}

/** A slice with these two axes, whole; others stay where they are, or go to their first index. */
export function withAxes(slice: string, shape: number[], axes: [number, number]): string {
  const parts = parseSlice(slice).map((part, axis) => {
    if (axes.includes(axis)) return "index" in part ? { from: 0, to: shape[axis] ?? 0 } : part;
    return "index" in part ? part : { index: 0 };
  });
  return formatSlice(parts);
}

/** A slice around an element: the axes of the picture at most so wide, the others at its index. */
export function around(slice: string, shape: number[], index: number[], wide: number): string {
  const parts = parseSlice(slice).map((part, axis) => {
    const [at, size] = [index[axis] ?? 0, shape[axis] ?? 1];
    if ("index" in part) return { index: at };
    const from = Math.max(0, Math.min(at - wide / 2, size - wide));
    return { from, to: Math.min(size, from + wide) };
  });
  return formatSlice(parts);
}

export interface Edge {
  axis: number; // -1 where the tensor has none
  from: number;
  to: number;
  cells: number;
}

/** The indices of a cell: from, and before. */
export function indicesOf(edge: Edge, cell: number): { from: number; to: number } {
  const size = edge.to - edge.from;
  const first = (n: number) => edge.from + Math.ceil((n * size) / edge.cells);
  return { from: first(cell), to: first(cell + 1) };
}

/** The slice that a person marked on a picture, by cells. */
export function zoomed(slice: string, rows: Edge, columns: Edge, first: [number, number], last: [number, number]): string {
  let to = slice;
  for (const [edge, a, b] of [
    [rows, first[0], last[0]],
    [columns, first[1], last[1]],
  ] as const) {
    if (edge.axis < 0) continue;
    to = withPart(to, edge.axis, { from: indicesOf(edge, Math.min(a, b)).from, to: indicesOf(edge, Math.max(a, b)).to });
  }
  return to;
}

/** The index of a cell as it is read: one number for an axis, or its range. */
export function placeOf(slice: string, rows: Edge, columns: Edge, row: number, column: number): string {
  const parts = parseSlice(slice).map((part, axis) => {
    if ("index" in part) return String(part.index);
    const { from, to } = axis === rows.axis ? indicesOf(rows, row) : indicesOf(columns, column);
    return to - from === 1 ? String(from) : `${String(from)}–${String(to - 1)}`;
  });
  return `[${parts.join(", ")}]`;
}
