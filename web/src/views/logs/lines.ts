// The lines of a run, of all ranks, in the order of time.
import type { Rows } from "../../api/answers";
import { askJSON, type Answer } from "../../api/client";

export interface Line {
  event_time_ns: number;
  time_basis: string;
  rank: number | null;
  step: number | null;
  host: string;
  pid: number | null;
  role: string;
  stream: string;
  level: string;
  logger: string;
  kind: string;
  request: string;
  text: string;
  exception: string;
  fields: Record<string, string>;
}

export interface Wanted {
  rank: number | null;
  step: number | null;
  level: string;
  find: string; // a regular expression
  from: string; // nanoseconds
}

export const most = 20_000; // lines of an answer

export async function askLines(run: string, w: Wanted, signal: AbortSignal): Promise<Answer<Rows<Line>>> {
  const parameters = { run, rank: w.rank, step: w.step, level: w.level, grep: w.find, from_time_ns: w.from, limit: most };
  return askJSON<Rows<Line>>("reports/logs", parameters, signal);
}

const printedWithin = 5e9; // nanoseconds

/** Without the lines that a process printed of records of its logging, which are lines themselves: as `tensortap logs`. */
export function withoutRepeated(lines: Line[]): Line[] {
  const records = new Map<string, { at: number; text: string }[]>();
  return lines.filter((line) => {
    if (line.pid === null) return true;
    const process = `${line.host} ${String(line.pid)}`;
    const known = (records.get(process) ?? []).filter((r) => line.event_time_ns - r.at <= printedWithin);
    if (line.stream === "logging") {
      const said = [...line.text.split("\n"), line.exception].filter((text) => text !== "");
      records.set(process, [...known, ...said.map((text) => ({ at: line.event_time_ns, text }))]);
      return true;
    }
    const of = known.findIndex((r) => (line.exception === "" ? line.text.endsWith(r.text) : line.exception === r.text));
    if (of >= 0) known.splice(of, 1);
    records.set(process, known);
    return of < 0;
  });
}

/** Lines without a level are of info, tracebacks of error, as the report has it. */
export function levelOf(line: Line): string {
  return line.level === "" ? "info" : line.level;
}

/** Colour and mark of a level, the worst last. */
export const levels: readonly { name: string; mark: string; colour: string }[] = [
  { name: "debug", mark: "·", colour: "same" },
  { name: "info", mark: " ", colour: "ink-soft" },
  { name: "warning", mark: "!", colour: "alone" },
  { name: "error", mark: "✗", colour: "diverged" },
  { name: "critical", mark: "✗✗", colour: "not-finite" },
];

export function rankOfLevel(line: Line): number {
  return Math.max(
    1,
    levels.findIndex((l) => l.name === levelOf(line)),
  );
}

/** What a row shows of a line: its first, and of a traceback the exception. */
export function shownText(line: Line): string {
  const last = line.exception.trimEnd().split("\n").at(-1) ?? "";
  return last === "" || line.text.includes(last) ? line.text : `${line.text}  ⟶  ${last}`;
}

/** Ranks that have a line, those without one last. */
export function ranksOf(lines: Line[]): (number | null)[] {
  const ranks = [...new Set(lines.map((l) => l.rank))];
  return ranks.sort((a, b) => (a ?? Infinity) - (b ?? Infinity));
}

/** The time of a line within its day, to the millisecond. */
export function clock(ns: number): string {
  return new Date(ns / 1e6).toISOString().slice(11, 23);
}

/** A whole number of nanoseconds before a line: JSON's numbers are a few hundred of them apart. */
export function before(ns: number, seconds: number): string {
  return String(BigInt(Math.max(0, Math.floor(ns / 1e6))) * 1_000_000n - BigInt(Math.round(seconds * 1e9)));
}
