// What the ranks of a run do, and in one sentence how they fare.
import type { Rows } from "../../api/answers";
import { askJSON, type Answer } from "../../api/client";
import { plural } from "../../words/numbers";

export interface Rank {
  rank: number;
  state: string;
  heard_seconds_ago: number | null;
  heard_time_ns: number | null;
  step: number | null;
  behind_step_count: number | null;
  op: string;
  module: string;
  phase: string;
  op_seconds: number | null;
  failure_type: string;
  failure_message: string;
  host: string;
  pid: number | null;
  device: string;
}

/** A rank that works longer on a step than the others do. */
export interface Slow {
  rank: number;
  step: number;
  phase: string;
  own_ms: number;
  peers_ms: number;
  factor: number;
}

export interface Fleet {
  ranks: Rank[];
  slow: Slow[];
}

const lately = 20; // steps, in which a slow rank counts

export async function askRanks(run: string, signal: AbortSignal): Promise<Answer<Fleet>> {
  const { value, gaps } = await askJSON<Rows<Rank>>("reports/ranks", { run }, signal);
  const first = Math.max(0, furthest(value.rows) - lately + 1);
  const slow = await askJSON<Rows<Slow>>("reports/phases", { run, first_step: first, limit: 5 }, signal);
  return { value: { ranks: value.rows, slow: slow.value.rows }, gaps };
}

export function furthest(ranks: Rank[]): number {
  return Math.max(0, ...ranks.map((r) => r.step ?? 0));
}

const troubled = ["died", "silent", "cut short", "never heard of"];

export function inTrouble(ranks: Rank[]): boolean {
  return ranks.some((r) => troubled.includes(r.state));
}

/** Whether anybody may be there to answer. A silent rank may be one whose machine is cut off. */
export function isLive(ranks: Rank[]): boolean {
  return ranks.some((r) => r.state === "running" || r.state === "silent");
}

/** The last sign of life of any rank, in nanoseconds; 0 where none is known. */
export function lastHeard(ranks: Rank[]): number {
  return Math.max(0, ...ranks.map((r) => r.heard_time_ns ?? 0));
}

/** How a run that is not live came to its end. */
export function endOf(ranks: Rank[]): string {
  const died = ranks.filter((r) => r.state === "died").length;
  if (died > 0) return died === ranks.length && died > 1 ? "Every rank died." : `${plural(died, "rank")} died.`;
  return inTrouble(ranks) ? "Not every rank is known to have ended in order." : "Every rank ended in order.";
}

/** What a rank that lives is at work on, or a dead one was. Who ended in order is at work on nothing. */
export function workOf(r: Rank): Pick<Rank, "op" | "phase" | "module" | "op_seconds"> {
  return r.state === "ended" ? { op: "", phase: "", module: "", op_seconds: null } : r;
}

/** As: 3 ranks are running, 1 is silent, at step 12; rank 2 is 4 steps behind. */
export function sentenceOf(run: string, ranks: Rank[]): string {
  const states = [...new Set(ranks.map((r) => r.state))].map((state) => {
    const n = ranks.filter((r) => r.state === state).length;
    return `${plural(n, "rank")} ${state}`;
  });
  const last = ranks.reduce<Rank | undefined>((a, b) => ((b.behind_step_count ?? 0) > (a?.behind_step_count ?? 0) ? b : a), undefined);
  const behind = last ? `; rank ${String(last.rank)} is ${plural(last.behind_step_count ?? 0, "step")} behind` : "";
  return `${run}: ${states.join(", ")}, at step ${String(furthest(ranks))}${behind}`;
}

const units = [
  [86_400, "d"],
  [3_600, "h"],
  [60, "min"],
] as const;
const fewest = 2; // of a unit, below which the one before it is taken

/** Seconds, with a digit where they are few; minutes, hours or days where they are many. */
export function seconds(s: number | null): string {
  if (s === null) return "–";
  for (const [size, unit] of units) if (s >= fewest * size) return `${String(Math.floor(s / size))} ${unit}`;
  return s < 10 ? `${Math.max(0, s).toFixed(1)} s` : `${String(Math.round(s))} s`;
}
