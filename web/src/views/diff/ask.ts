// The questions of this view.
import { ask, askJSON, gapsOf, type Answer } from "../../api/client";
import type { Explanation, Rows } from "../../api/answers";
import { Sequence, type Column } from "./sequence";

export interface Sides {
  problem: string;
  bench: string;
  benches: string[]; // beside the first
}

export interface Place {
  rank: number | null;
  step: number | null;
}

export async function askSequence(sides: Sides, place: Place, signal: AbortSignal): Promise<Answer<Sequence>> {
  const [{ tableFromIPC }, response] = await Promise.all([
    import("apache-arrow"),
    ask("reports/sequence", { ...sides, ...place, format: "arrow" }, signal),
  ]);
  const table = tableFromIPC(new Uint8Array(await response.arrayBuffer()));
  const columns: Record<string, Column> = {};
  for (const field of table.schema.fields) {
    const column = table.getChild(field.name);
    if (column !== null) columns[field.name] = column as Column;
  }
  return { value: new Sequence(table.numRows, columns), gaps: gapsOf(response) };
}

export interface JudgedPlace {
  rank: number;
  step: number;
  differing_count: number;
}

export async function askPlaces(sides: Sides, signal: AbortSignal): Promise<JudgedPlace[]> {
  const parameters = { ...sides, columns: "rank,step,differing_count" };
  return (await askJSON<Rows<JudgedPlace>>("reports/judged_steps", parameters, signal)).value.rows;
}

export function askExplanation(sides: Sides, place: Place, op: string, signal: AbortSignal): Promise<Answer<Explanation>> {
  return askJSON<Explanation>(
    "explain",
    { problem: sides.problem, bench: [sides.bench, ...sides.benches], op, before: 3, ...place },
    signal,
  );
}
