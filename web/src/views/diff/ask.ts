// The questions of this view.
import { askArrow } from "../../api/arrow";
import { askJSON, type Answer, type Parameters } from "../../api/client";
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

export function askSequence(sides: Sides, place: Place, signal: AbortSignal): Promise<Answer<Sequence>> {
  return askColumns("reports/sequence", { ...sides, ...place }, signal);
}

/** The ops of a step, from a report that has a row for each. */
export async function askColumns(report: string, parameters: Parameters, signal: AbortSignal): Promise<Answer<Sequence>> {
  const { value: table, gaps } = await askArrow(report, parameters, signal);
  const columns: Record<string, Column> = {};
  for (const field of table.schema.fields) {
    const column = table.getChild(field.name);
    if (column !== null) columns[field.name] = column as Column;
  }
  const alone = columns["op"]; // of a run that is held against none, and stands where the problem does
  if (alone !== undefined) columns["problem_op"] = alone;
  return { value: new Sequence(table.numRows, columns), gaps };
}

export interface JudgedPlace {
  rank: number;
  step: number;
  // Of a run that is held against none there are no counts, and of a file that was shared the first alone.
  differing_count?: number;
  paired_count?: number;
  only_problem_count?: number;
  only_bench_count?: number;
}

export async function askPlaces(sides: Sides, signal: AbortSignal): Promise<JudgedPlace[]> {
  if (sides.bench === "")
    return (await askJSON<Rows<JudgedPlace>>("reports/progress", { run: sides.problem, columns: "rank,step" }, signal)).value.rows;
  const parameters = { ...sides, columns: "rank,step,differing_count,paired_count,only_problem_count,only_bench_count" };
  return (await askJSON<Rows<JudgedPlace>>("reports/judged_steps", parameters, signal)).value.rows;
}

export function askExplanation(sides: Sides, place: Place, op: string, signal: AbortSignal): Promise<Answer<Explanation>> {
  return askJSON<Explanation>(
    "explain",
    { problem: sides.problem, bench: [sides.bench, ...sides.benches], op, before: 3, ...place },
    signal,
  );
}
