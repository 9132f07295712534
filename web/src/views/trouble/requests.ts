// The moments of requests, gathered by request.
import type { Rows } from "../../api/answers";
import { askJSON, type Answer } from "../../api/client";

export interface RequestMoment {
  request: string;
  event_time_ns: number;
  after_ms: number;
  since_before_ms: number;
  moment: string;
  role: string;
  rank: number | null;
  step: number | null;
  first_position: number | null;
  token_count: number | null;
  batch_request_count: number | null;
  step_ms: number | null;
  reason: string;
  prompt_token_count: number | null;
  output_token_count: number | null;
}

export interface Life {
  request: string;
  moments: RequestMoment[];
  from: number; // nanoseconds
  to: number;
  end: string; // how it ended; empty where that is not known
}

export interface Poisoned {
  request: string;
  how: string;
  first_step: number | null;
  rank: number | null;
  op: string;
  module: string;
  phase: string;
  not_finite_step_count: number;
  finite_step_count: number;
}

export const most = 20_000; // moments of an answer

/** Requests whose name begins so. */
export function askMoments(run: string, begins: string, signal: AbortSignal): Promise<Answer<Rows<RequestMoment>>> {
  return askJSON<Rows<RequestMoment>>("reports/request", { run, id: `${begins.replace(/\*+$/, "")}*`, limit: most }, signal);
}

export function askPoisoned(run: string, signal: AbortSignal): Promise<Answer<Rows<Poisoned>>> {
  return askJSON<Rows<Poisoned>>("reports/poisoned_requests", { run, limit: 1000 }, signal);
}

/** One life for each request, in the order in which they came. */
export function livesOf(moments: RequestMoment[]): Life[] {
  const lives = new Map<string, Life>();
  for (const m of moments) {
    const life = lives.get(m.request) ?? { request: m.request, moments: [], from: m.event_time_ns, to: m.event_time_ns, end: "" };
    life.moments.push(m);
    life.from = Math.min(life.from, m.event_time_ns);
    life.to = Math.max(life.to, m.event_time_ns + (m.step_ms ?? 0) * 1e6);
    if (["finished", "aborted", "unfinished"].includes(m.moment)) life.end = m.reason ? `${m.moment}: ${m.reason}` : m.moment;
    lives.set(m.request, life);
  }
  return [...lives.values()].sort((a, b) => a.from - b.from);
}

export function milliseconds(ms: number | null): string {
  if (ms === null) return "";
  return ms >= 10_000 ? `${String(Number((ms / 1e3).toPrecision(4)))} s` : `${String(Number(ms.toPrecision(3)))} ms`;
}
