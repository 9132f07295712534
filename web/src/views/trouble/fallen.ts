// The ranks of a run in the order in which they went, as `tensortap report crash` has them.
import type { Rows } from "../../api/answers";
import { askJSON, type Answer } from "../../api/client";

export interface Fallen {
  rank: number;
  how: string;
  last_time_ns: number | null;
  after_seconds: number | null;
  step: number | null;
  op: string;
  module: string;
  op_seconds: number | null;
  type: string;
  message: string;
  inputs: string;
  user_frame: string;
  frames: string[];
  requests: string[];
  signal: number | null;
  memory_step: number | null;
  allocated_bytes: number | null;
  host_resident_bytes: number | null;
  refused_allocation_count: number | null;
  last_lines: string[];
  host: string;
  pid: number | null;
  device: string;
}

export function askFallen(run: string, signal: AbortSignal): Promise<Answer<Rows<Fallen>>> {
  return askJSON<Rows<Fallen>>("reports/crash", { run }, signal);
}

const quiet = new Set(["running", "ended", "no step yet"]);

/** In one sentence, who went first and where. */
export function sentenceOf(run: string, all: Fallen[]): string {
  const first = all.find((f) => !quiet.has(f.how));
  if (first === undefined) {
    const running = all.some((f) => f.how === "running");
    return running ? `${run} goes on: every rank gives signs of life.` : `${run} ended in order, on every rank that is known.`;
  }
  const what: Record<string, string> = { died: "died without a word", raised: `raised ${first.type || "an exception"}` };
  return `Rank ${String(first.rank)} was the first to go: ${what[first.how] ?? first.how}${placeOf(first)}.`;
}

export function placeOf(f: Fallen): string {
  const parts = [
    f.step === null ? "" : ` in step ${String(f.step)}`,
    f.op === "" ? "" : `, op ${f.op}`,
    f.module === "" ? "" : ` of module ${f.module}`,
    f.signal === null ? "" : `, by signal ${String(f.signal)}`,
  ];
  return parts.join("");
}

/** How much later than the first, as people say it. */
export function laterOf(f: Fallen): string {
  if (f.after_seconds === null) return "";
  if (Math.abs(f.after_seconds) < 0.001) return "first";
  const s = Number(Math.abs(f.after_seconds).toPrecision(3));
  return f.after_seconds < 0 ? `${String(s)} s before` : `${String(s)} s later`;
}
