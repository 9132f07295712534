// What a person who follows runs should hear of at once: the first difference, and the first NaN.
import type { Comparison, Rows, RunOverview } from "../api/answers";
import { askBegan, type Began } from "../api/began";
import { askJSON } from "../api/client";
import type { Address, View } from "./address";

export interface News {
  key: string; // the same news has the same key
  run: string;
  sentence: string; // goes on after the name of the run
  view: View;
  changes: Partial<Address>; // to the address, where it is seen
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
    const found = await askBegan(run, null, signal);
    if (found !== null) return notFinite(run, found);
  }
  return null;
}

export function notFinite(run: string, at: Began): News {
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

function placed(at: Began): string {
  return `step ${String(at.step)}, rank ${String(at.rank)}, op ${at.op}`;
}
