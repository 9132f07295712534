// The questions of this view.
import type { Rows } from "../../api/answers";
import { askJSON, type Answer } from "../../api/client";
import type { Growth, Look, Summary } from "./course";

const columns = 600; // of a chart: more cannot be told apart

export function askSummary(run: string, signal: AbortSignal): Promise<Answer<Rows<Summary>>> {
  return askJSON("reports/memory", { run }, signal);
}

export function askGrowth(run: string, signal: AbortSignal): Promise<Answer<Rows<Growth>>> {
  return askJSON("reports/memory_growth", { run }, signal);
}

export function askCourse(run: string, rank: number, signal: AbortSignal): Promise<Answer<Rows<Look>>> {
  return askJSON("reports/memory_course", { run, rank, width: columns }, signal);
}
