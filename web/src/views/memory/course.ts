// How the memory of ranks went: a line for each, and what one of them is made of.
import { numberOf, type Answered } from "../../words/numbers";

/** A row of the report memory. */
export interface Summary {
  rank: number;
  device: string;
  component: string;
  counter: string;
  verdict: string;
  growth_bytes_per_step: Answered;
  first_bytes: Answered;
  greatest_bytes: Answered;
  peak_step: number;
  peak_op: string;
  peak_module: string;
  basis: string;
}

/** A row of the report memory_growth. */
export interface Growth {
  rank: number;
  device: string;
  component: string;
  counter: string;
  growth_bytes_per_step: Answered;
  op: string;
  module: string;
  user_frame: string;
}

/** A row of the report memory_course. */
export interface Look {
  rank: number;
  device: string;
  component: string;
  step: number;
  allocated_bytes: Answered;
  reserved_bytes: Answered;
  peak_bytes: Answered;
  host_resident_bytes: Answered;
  time_ns: number;
}

/** One device of one rank of one run. */
export interface Line {
  name: string;
  run: string;
  rank: number;
  device: string;
  counter: "allocated" | "host resident";
  points: Point[];
  parts: Part[]; // by component, the lowest of the stack first
}

export interface Point {
  step: number;
  seconds: number; // since the first look of the run
  bytes: number;
}

export interface Part {
  component: string;
  points: Point[];
}

/** The order of the stack: what stays below what comes and goes. */
export const components = ["weights", "optimizer", "gradients", "kv", "other", "activations"];

/** Ranks that are drawn where nobody chose any: those that grow, then those with most. */
export function ranksOf(summary: Summary[], most: number): number[] {
  const whole = summary.filter((s) => s.component === "all" && s.counter !== "reserved");
  const weight = (s: Summary) => (s.verdict === "grows" ? 1e18 : 0) + (numberOf(s.greatest_bytes) ?? 0);
  const ordered = [...whole].sort((a, b) => weight(b) - weight(a) || a.rank - b.rank);
  return [...new Set(ordered.map((s) => s.rank))].slice(0, most).sort((a, b) => a - b);
}

export function allRanks(summary: Summary[]): number[] {
  return [...new Set(summary.map((s) => s.rank))].sort((a, b) => a - b);
}

/** Those of the ranks that a run has: runs of several sizes share an axis. */
export function ranksHad(ranks: number[], summary: Summary[]): number[] {
  const had = new Set(allRanks(summary));
  return ranks.filter((r) => had.has(r));
}

/** Lines of one rank: a device each. */
export function linesOf(run: string, looks: Look[]): Line[] {
  const began = looks.reduce((least, l) => Math.min(least, l.time_ns), Infinity);
  return [...new Set(looks.map((l) => l.device))].map((device) => {
    const own = looks.filter((l) => l.device === device);
    const all = own.filter((l) => l.component === "all");
    const counter = all.some((l) => l.allocated_bytes !== null) ? "allocated" : "host resident";
    const rank = own[0]?.rank ?? 0;
    const parts = components
      .map((component) => ({
        component,
        points: pointsOf(
          own.filter((l) => l.component === component),
          began,
          bytesOfPart,
        ),
      }))
      .filter((p) => p.points.length > 0);
    const points = pointsOf(all, began, (l) => (counter === "allocated" ? l.allocated_bytes : l.host_resident_bytes));
    return { name: `${run} rank ${String(rank)} ${device}`, run, rank, device, counter, points, parts };
  });
}

/** Of a KV cache the capacity takes room, however much of it is in use; of activations the peak is known. */
function bytesOfPart(l: Look): Answered {
  if (l.component === "kv") return l.reserved_bytes;
  return l.component === "activations" ? l.peak_bytes : l.allocated_bytes;
}

function pointsOf(looks: Look[], began: number, bytes: (l: Look) => Answered): Point[] {
  return looks.flatMap((l) => {
    const n = numberOf(bytes(l));
    return n === null ? [] : [{ step: l.step, seconds: (l.time_ns - began) / 1e9, bytes: n }];
  });
}

export interface Layer {
  component: string;
  low: number[];
  high: number[];
}

/** The parts of a line above each other, at the steps of the first; a part that was not looked at there keeps what it had. */
export function stacked(line: Line): { at: Point[]; layers: Layer[] } {
  const at = line.parts[0]?.points ?? [];
  let low = at.map(() => 0);
  const layers = line.parts.map(({ component, points }) => {
    let next = 0;
    let bytes = 0;
    const high = at.map((p, i) => {
      for (; next < points.length && (points[next]?.step ?? 0) <= p.step; next++) bytes = points[next]?.bytes ?? 0;
      return (low[i] ?? 0) + bytes;
    });
    const layer = { component, low, high };
    low = high;
    return layer;
  });
  return { at, layers };
}

/** The look at which a line was highest. */
export function peakOf(line: Line): Point | undefined {
  return line.points.reduce<Point | undefined>((most, p) => (most === undefined || p.bytes > most.bytes ? p : most), undefined);
}
