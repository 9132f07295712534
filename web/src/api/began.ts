// Where NaN or infinity begins in a run.
import type { Rows } from "./answers";
import { askJSON } from "./client";

export interface Began {
  rank: number;
  step: number;
  op: string;
}

const most = 1_000; // rows: what is meant to be infinite, as masks are, may stand before it

/** Looks first for a sign of it, which is cheap, and then where it is. */
export async function askBegan(run: string, rank: number | null, signal: AbortSignal): Promise<Began | null> {
  const signs = await askJSON<Rows<{ not_finite_count: number }>>("reports/signs", { run }, signal);
  if ((signs.value.rows[0]?.not_finite_count ?? 0) === 0) return null;
  const parameters = { run, rank, limit: most, columns: "rank,step,op,verdict" };
  return firstOf((await askJSON<Rows<Began & { verdict: string }>>("reports/overflow", parameters, signal)).value.rows);
}

export function firstOf(rows: (Began & { verdict: string })[]): Began | null {
  const found = rows.find((r) => r.verdict !== "known exception");
  return found === undefined ? null : { rank: found.rank, step: found.step, op: found.op };
}
