// The questions of this view.
import { askJSON, type Answer } from "../../api/client";
import type { Rows } from "../../api/answers";
import { askBegan, type Began } from "../../api/began";
import { askColumns, askSequence, type Place, type Sides } from "../diff/ask";
import type { Sequence } from "../diff/sequence";
import type { Handed } from "./flow";
import { levelsOf } from "./levels";

/** The ops of a step, and where NaN or infinity begins if that is why it is this step. */
export interface Ops extends Answer<Sequence> {
  began: Began | null;
}

/** The ops of both runs, or of one alone. Of that, where no step is chosen, at the step that matters. */
export async function askOps(sides: Sides, place: Place, signal: AbortSignal): Promise<Ops> {
  if (sides.bench !== "") return { ...(await askSequence(sides, place, signal)), began: null };
  const began = place.step === null ? await askBegan(sides.problem, place.rank, signal) : null;
  const at = began === null ? place : { rank: began.rank, step: began.step };
  return { ...(await askColumns("reports/program", { run: sides.problem, ...at }, signal)), began };
}

export async function askLevels(run: string, place: Place, signal: AbortSignal): Promise<Map<string, number>> {
  const parameters = { run, ...place, columns: "op,level" };
  return levelsOf((await askJSON<Rows<{ op: string; level: string }>>("reports/overflow_levels", parameters, signal)).value.rows);
}

export async function askFlow(run: string, module: string, place: Place, signal: AbortSignal): Promise<Handed[]> {
  const parameters = { run, module, ...place, columns: "op,role,path,dtype,shape,from_op" };
  return (await askJSON<Rows<Handed>>("reports/flow", parameters, signal)).value.rows;
}
