// Where NaN or infinity begins in a run.
import type { Rows } from "./answers";
import { askJSON } from "./client";

export interface Began {
  rank: number;
  step: number;
  op: string;
}

/** Looks first for a sign of it, which is cheap, and then where it is. What is meant to be infinite, as masks are, is no beginning. */
export async function askBegan(run: string, rank: number | null, signal: AbortSignal): Promise<Began | null> {
  const signs = await askJSON<Rows<{ not_finite_count: number }>>("reports/signs", { run }, signal);
  if ((signs.value.rows[0]?.not_finite_count ?? 0) === 0) return null;
  const parameters = { run, rank, exceptions: 0, limit: 1, columns: "rank,step,op" };
  return (await askJSON<Rows<Began>>("reports/overflow", parameters, signal)).value.rows[0] ?? null;
}
