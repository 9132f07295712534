// Views of one run show one of those that are chosen.
import type { Address } from "../app/address";

export function chosenRuns(here: Address): string[] {
  return [...new Set([here.problem, ...here.benches])].filter((r) => r !== "");
}

/** The run of the address, if it is one of these; else the first. */
export function chosenRun(here: Address): string {
  const runs = chosenRuns(here);
  return runs.includes(here.run) ? here.run : (runs[0] ?? "");
}
