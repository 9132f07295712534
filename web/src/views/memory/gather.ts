// All that the view shows, of several runs.
import { askCourse, askGrowth, askSummary } from "./ask";
import { allRanks, linesOf, ranksHad, ranksOf, type Growth, type Line, type Summary } from "./course";

export interface Course {
  lines: Line[];
  ranks: number[]; // that there are, in any of the runs
  shown: number[];
  summary: Record<string, Summary[]>; // by run
  growth: Record<string, Growth[]>;
  gaps: string[];
}

const most = 4; // ranks, where nobody chose

export async function askAll(runs: string[], wanted: number[], signal: AbortSignal): Promise<Course> {
  const told = await Promise.all(runs.map((run) => Promise.all([askSummary(run, signal), askGrowth(run, signal)])));
  const summaries = told.map(([s]) => s.value.rows);
  const ranks = [...new Set(summaries.flatMap(allRanks))].sort((a, b) => a - b);
  const chosen = wanted.filter((r) => ranks.includes(r));
  const shown = chosen.length > 0 ? chosen : ranksOf(summaries.flat(), most);
  const asked = runs.flatMap((run, i) =>
    ranksHad(shown, summaries[i] ?? []).map(async (rank) => linesOf(run, (await askCourse(run, rank, signal)).value.rows)),
  );
  return {
    lines: (await Promise.all(asked)).flat(),
    ranks,
    shown,
    summary: Object.fromEntries(runs.map((run, i) => [run, summaries[i] ?? []])),
    growth: Object.fromEntries(runs.map((run, i) => [run, told[i]?.[1].value.rows ?? []])),
    gaps: [...new Set(told.flatMap(([s]) => s.gaps))],
  };
}
