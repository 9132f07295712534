// The questions of this view.
import { askJSON, gapsOf, post } from "../../api/client";
import { save as saveFile } from "../../charts/file";

export interface Result {
  columns: string[];
  rows: unknown[][];
  gaps: string[];
  seconds: number;
}

export interface Report {
  name: string;
  title: string;
  columns: { name: string; doc: string }[];
}

export const mostRows = 10_000;

export async function run(query: string, signal: AbortSignal): Promise<Result> {
  const began = performance.now();
  const response = await post("sql", { query, format: "json", limit: mostRows }, signal);
  const { rows } = (await response.json()) as { rows: Record<string, unknown>[] };
  const columns = Object.keys(rows[0] ?? {});
  return { columns, rows: rows.map((r) => columns.map((c) => r[c])), gaps: gapsOf(response), seconds: (performance.now() - began) / 1e3 };
}

/** Saves the answer as a file, in a format of the program's. */
export async function save(query: string, format: "csv" | "arrow" | "parquet"): Promise<void> {
  const blob = await (await post("sql", { query, format })).blob();
  saveFile(blob, `answer.${format}`);
}

export async function reports(signal: AbortSignal): Promise<Report[]> {
  return (await askJSON<{ reports: Report[] }>("reports", {}, signal)).value.reports;
}

/** The views that people ask, with what each is for. */
export const viewsQuery = `SELECT table, groupArray(name) AS columns
FROM system.columns
WHERE database = 'tap' AND table NOT LIKE '%\\_report'
GROUP BY table
ORDER BY table`;

/** What the editor completes: columns by table. */
export async function tables(signal: AbortSignal): Promise<Record<string, string[]>> {
  const { rows } = await run(viewsQuery, signal);
  return Object.fromEntries(rows.map(([table, columns]) => [`tap.${String(table)}`, columns as string[]]));
}
