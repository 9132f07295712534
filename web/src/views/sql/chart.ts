// Whether an answer can be drawn: its first column of numbers over its rows, or over another one.

export interface Drawn {
  x: string;
  y: string[];
  data: (number | null)[][];
}

/** Takes the first column of numbers for x, and those after it for lines; nothing where there are no two. */
export function drawable(columns: string[], rows: unknown[][]): Drawn | null {
  const numeric = columns.map((name, at) => ({ name, at })).filter(({ at }) => rows.length > 1 && rows.every((r) => isNumber(r[at])));
  const [x, ...y] = numeric;
  if (x === undefined || y.length === 0) return null;
  const ordered = [...rows].sort((a, b) => Number(a[x.at]) - Number(b[x.at]));
  return { x: x.name, y: y.map((c) => c.name), data: [x, ...y].map(({ at }) => ordered.map((r) => finite(r[at]))) };
}

/** NaN and infinity come as text, and null is not measured. */
function isNumber(v: unknown): boolean {
  return v === null || typeof v === "number" || v === "NaN" || v === "Infinity" || v === "-Infinity";
}

function finite(v: unknown): number | null {
  const n = v === null ? NaN : Number(v);
  return Number.isFinite(n) ? n : null;
}
