// What is offered where a view has no runs to look at: runs that may be the ones.
import type { RunOverview } from "../api/answers";
import type { Address } from "../app/address";

export interface Offer {
  words: string;
  changes: Pick<Address, "problem" | "benches">;
}

const most = 6;

/** Runs to look at; where a bench is needed, comparisons that were made, or benches for the problem that is chosen. */
export function offersOf(runs: RunOverview[], problem: string, bench: boolean): Offer[] {
  if (!bench) return runs.map(({ run }) => ({ words: run, changes: { problem: run, benches: [] } })).slice(0, most);
  if (problem !== "") {
    const others = runs.filter(({ run }) => run !== problem);
    return others.map(({ run }) => ({ words: run, changes: { problem, benches: [run] } })).slice(0, most);
  }
  const compared = runs.filter((r) => r.bench !== "");
  return compared.map((r) => ({ words: `${r.run} with ${r.bench}`, changes: { problem: r.run, benches: [r.bench] } })).slice(0, most);
}
