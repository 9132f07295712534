// Levels of overflow of ops, as msProbe's graph has them.

export interface Level {
  name: string;
  mark: string;
  meaning: string;
}

/** By their number, the worst last; 0 is none. */
export const levels: readonly Level[] = [
  { name: "", mark: "", meaning: "" },
  { name: "medium", mark: "▵", meaning: "an input is NaN or infinite, and no output" },
  { name: "high", mark: "▴", meaning: "inputs and outputs are NaN or infinite, or an output is 100 times greater than every input" },
  { name: "critical", mark: "▲", meaning: "NaN or infinity begins here: outputs have it, and no input" },
];

export function levelsOf(rows: { op: string; level: string }[]): Map<string, number> {
  return new Map(
    rows.map((row) => [
      row.op,
      Math.max(
        0,
        levels.findIndex((l) => l.name === row.level),
      ),
    ]),
  );
}
