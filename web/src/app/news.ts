// What a person who follows runs should hear of at once: the first difference, and the first NaN.
import type { Comparison, Rows, RunOverview } from "../api/answers";
import { askJSON } from "../api/client";
import type { Address, View } from "./address";

export interface News {
  key: string; // the same news has the same key
  run: string;
  sentence: string; // goes on after the name of the run
  view: View;
  changes: Partial<Address>; // to the address, where it is seen
}

interface Place {
  rank: number;
  step: number;
  op: string;
}

const latest = 100; // runs among which a live one is looked for

/** Those of the chosen runs that are live now. */
export async function askLive(runs: string[], signal: AbortSignal): Promise<string[]> {
  const { value } = await askJSON<Rows<RunOverview>>("reports/overview", { limit: latest }, signal);
  return value.rows.filter((r) => r.status === "running" && runs.includes(r.run)).map((r) => r.run);
}

/** News of the first of the runs that has any. */
export async function askFirstNotFinite(runs: string[], signal: AbortSignal): Promise<News | null> {
  for (const run of runs) {
    const found = await askNotFinite(run, signal);
    if (found !== null) return found;
  }
  return null;
}

/** Looks first for a sign of it, which is cheap, and then where it is. */
async function askNotFinite(run: string, signal: AbortSignal): Promise<News | null> {
  const signs = await askJSON<Rows<{ not_finite_count: number }>>("reports/signs", { run }, signal);
  if ((signs.value.rows[0]?.not_finite_count ?? 0) === 0) return null;
  const { value } = await askJSON<Rows<Place>>("reports/overflow", { run, limit: 1 }, signal);
  const [first] = value.rows;
  return first ? notFinite(run, first) : null;
}

export function notFinite(run: string, at: Place): News {
  return {
    key: `not finite ${run}`,
    run,
    sentence: `has NaN or infinity since ${placed(at)}`,
    view: "overflow",
    changes: { problem: run, benches: [], rank: null, step: null },
  };
}

export async function askDifference(problem: string, benches: string[], signal: AbortSignal): Promise<News | null> {
  const { value } = await askJSON<Comparison>("compare", { problem, bench: benches, limit: 1 }, signal);
  return value.verdict === "differs" ? difference(problem, benches, value) : null;
}

export function difference(problem: string, benches: string[], found: Pick<Comparison, "origins" | "divergence">): News {
  const at = found.origins[0] ?? found.divergence[0];
  return {
    key: `differs ${problem} ${benches.join(" ")}`,
    run: problem,
    sentence: `differs from ${benches.join(", ")}${at ? ` since ${placed(at)}` : ""}`,
    view: at ? "diff" : "verdict",
    changes: { problem, benches, ...(at ? { rank: at.rank, step: at.step, op: at.op } : {}) },
  };
}

function placed(at: Place): string {
  return `step ${String(at.step)}, rank ${String(at.rank)}, op ${at.op}`;
}
