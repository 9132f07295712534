// Which runs are shown, in which groups, and what a click on one chooses.
import type { RunOverview } from "../../api/answers";
import type { Address } from "../../app/address";
import { stateKind, runKind } from "../../words/verdicts";

export interface Group {
  label: string; // empty where runs are not grouped
  runs: RunOverview[];
}

/** Runs that have every word somewhere: name, state, verdict, model, or a label as team=vision. */
export function matching(runs: RunOverview[], find: string): RunOverview[] {
  const words = find.toLowerCase().split(/\s+/).filter(Boolean);
  return words.length === 0 ? runs : runs.filter((r) => words.every((w) => textOf(r).includes(w)));
}

function textOf(r: RunOverview): string {
  const labels = Object.entries(r.labels).map(([k, v]) => `${k}=${v}`);
  return [r.run, stateKind(r.status).word, runKind(r.verdict).word, r.model, r.source, r.dtype, ...labels].join(" ").toLowerCase();
}

export function labelKeys(runs: RunOverview[]): string[] {
  return [...new Set(runs.flatMap((r) => Object.keys(r.labels)))].sort();
}

export function grouped(runs: RunOverview[], by: string): Group[] {
  if (by === "") return [{ label: "", runs }];
  const groups = new Map<string, RunOverview[]>();
  for (const run of runs) {
    const label = run.labels[by] ?? `no ${by}`;
    groups.set(label, [...(groups.get(label) ?? []), run]);
  }
  return [...groups].map(([label, members]) => ({ label, runs: members }));
}

type Chosen = Pick<Address, "problem" | "benches">;

/** A run is on one side at a time; a second click takes it back. */
export function asProblem({ problem, benches }: Chosen, run: string): Chosen {
  return { problem: problem === run ? "" : run, benches: benches.filter((b) => b !== run) };
}

/** Several benches make a band. */
export function asBench({ problem, benches }: Chosen, run: string): Chosen {
  const others = benches.filter((b) => b !== run);
  return { problem: problem === run ? "" : problem, benches: others.length < benches.length ? others : [...benches, run] };
}
