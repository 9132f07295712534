// Properties of two runs that differ, as a table of text: whatever columns the program answers.

export interface Cells {
  columns: string[];
  rows: string[][];
}

export function cellsOf(differences: Record<string, unknown>[]): Cells {
  const columns = Object.keys(differences[0] ?? {});
  return { columns, rows: differences.map((d) => columns.map((c) => textOf(d[c]))) };
}

export function textOf(value: unknown): string {
  if (value === null || value === undefined) return "–";
  if (typeof value === "string") return value;
  return JSON.stringify(value);
}
