// What may be asked of the processes of a live run, and what they answer.
import { askJSON, post } from "../../api/client";
import { plural } from "../../words/numbers";

export const deeds = ["capture", "poke", "stop", "resume"] as const;
export type Deed = (typeof deeds)[number];

export const meanings: Record<Deed, string> = {
  capture: "record more of the next steps",
  poke: "where each rank is right now, with the stacks of its threads",
  stop: "record nothing more; the program runs on",
  resume: "record again, as the settings of the run say",
};

export const levels = ["mix", "L0", "L1", "aten", "tokens"];

export interface Capture {
  level: string;
  steps: number;
  scope: string;
  payload: boolean;
}

export interface Who {
  role: string;
  control: boolean;
}

export interface Told {
  rank: number;
  host: string;
  pid: number;
  state: string;
  from_step: number;
  reason?: string;
  payloads?: string;
  step: number;
  op?: string;
  stacks?: string;
}

export interface Outcome {
  answers: Told[];
  silent: number[];
  complete: boolean;
}

export async function askWho(signal: AbortSignal): Promise<Who> {
  return (await askJSON<Who>("who", {}, signal)).value;
}

/** Why nothing may be asked of runs; empty where it may. */
export function hindrance(who: Who): string {
  if (who.control) return "";
  return who.role === "operator"
    ? "This server reads and changes nothing: it was started without --control."
    : "Your token is a reader's. Capture, poke, stop and resume are for operators.";
}

export async function order(deed: Deed, run: string, capture: Capture, signal: AbortSignal): Promise<Outcome> {
  const response = await post(`control/${deed}`, deed === "capture" ? { run, ...wanted(capture) } : { run }, signal);
  return (await response.json()) as Outcome;
}

export function wanted({ level, steps, scope, payload }: Capture): object {
  const patterns = scope.split(/\s+/).filter((word) => word !== "");
  return { level, steps, payload, ...(patterns.length > 0 ? { scope: patterns } : {}) };
}

/** What came of it, in one sentence. */
export function outcomeOf(deed: Deed, { answers, silent, complete }: Outcome): string {
  if (complete) return `${deed}: ${answers.length === 1 ? "the one rank does" : `all ${String(answers.length)} ranks do`} as asked`;
  const refused = answers.filter((a) => a.state === "refused").length;
  const parts = [
    refused > 0 ? `${plural(refused, "rank")} refused` : "",
    silent.length > 0 ? `no agent answered for rank ${silent.join(", ")}` : "",
    answers.length + silent.length === 0 ? "no rank of this run is alive" : "",
  ].filter((part) => part !== "");
  return `${deed}: ${parts.join("; ") || "not all ranks have come to it yet"}`;
}
