// The questions of this view.
import { askJSON, type Answer } from "../../api/client";
import type { Rows } from "../../api/answers";
import { askColumns, askSequence, type Place, type Sides } from "../diff/ask";
import type { Sequence } from "../diff/sequence";
import type { Handed } from "./flow";
import { levelsOf } from "./levels";

/** The ops of both runs, or of one alone. */
export function askOps(sides: Sides, place: Place, signal: AbortSignal): Promise<Answer<Sequence>> {
  if (sides.bench !== "") return askSequence(sides, place, signal);
  return askColumns("reports/program", { run: sides.problem, ...place }, signal);
}

export async function askLevels(run: string, place: Place, signal: AbortSignal): Promise<Map<string, number>> {
  const parameters = { run, ...place, columns: "op,level" };
  return levelsOf((await askJSON<Rows<{ op: string; level: string }>>("reports/overflow_levels", parameters, signal)).value.rows);
}

export async function askFlow(run: string, module: string, place: Place, signal: AbortSignal): Promise<Handed[]> {
  const parameters = { run, module, ...place, columns: "op,role,path,dtype,shape,from_op" };
  return (await askJSON<Rows<Handed>>("reports/flow", parameters, signal)).value.rows;
}
