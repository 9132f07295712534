// Asks the program that served the page, and nobody else: addresses are relative to the page. In a file that was shared,
// the file answers.
import { counted } from "./quiet";

/** A name that no run has, and names like it. */
export interface UnknownRun {
  run: string;
  nearest: string[];
}

/** An answer that is none, in the words of the program. */
export class Refused extends Error {
  readonly status: number;
  readonly unknown: UnknownRun | undefined;

  constructor(status: number, sentence: string, unknown?: UnknownRun) {
    super(sentence);
    this.status = status;
    this.unknown = unknown;
  }
}

type Answering = (address: string, options: RequestInit) => Promise<Response>;

const byProgram: Answering = (address, options) => fetch(address, options);
let answering = byProgram;

/** Has all questions of the page answered by something else than the program. */
export function answerBy(other: Answering): void {
  answering = other;
}

export function isAnsweredByProgram(): boolean {
  return answering === byProgram;
}

let locked = (): void => undefined;

/** Has it said where the program wants a token, or another one. */
export function whenLocked(tell: () => void): void {
  locked = tell;
}

export type Parameters = Record<string, string | number | string[] | null>;

/** An answer, with what the program says is missing of it. */
export interface Answer<T> {
  value: T;
  gaps: string[];
}

export function addressOf(path: string, parameters: Parameters): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) {
    if (value === null || value === "") continue;
    for (const one of Array.isArray(value) ? value : [value]) query.append(name, String(one));
  }
  const text = query.toString();
  return `api/v1/${path}${text ? `?${text}` : ""}`;
}

export async function ask(path: string, parameters: Parameters, signal?: AbortSignal): Promise<Response> {
  return counted(answered(answering(addressOf(path, parameters), { signal: signal ?? null })));
}

export async function askJSON<T>(path: string, parameters: Parameters, signal?: AbortSignal): Promise<Answer<T>> {
  const response = await ask(path, parameters, signal);
  return { value: (await response.json()) as T, gaps: gapsOf(response) };
}

export async function post(path: string, body: unknown, signal?: AbortSignal): Promise<Response> {
  const headers = { "Content-Type": "application/json" };
  return answered(answering(`api/v1/${path}`, { method: "POST", headers, body: JSON.stringify(body), signal: signal ?? null }));
}

async function answered(asked: Promise<Response>): Promise<Response> {
  let response: Response;
  try {
    response = await asked;
  } catch (problem) {
    if (problem instanceof DOMException && problem.name === "AbortError") throw problem;
    throw new Refused(0, "The program that served this page does not answer. Is tensortap still running?");
  }
  if (response.status === 401) locked();
  if (!response.ok) throw refusalOf(response, await response.text());
  return response;
}

interface Problem {
  error?: unknown;
  unknown_run?: string;
  nearest_runs?: string[] | null;
}

function refusalOf({ status, statusText }: Response, text: string): Refused {
  try {
    const { error, unknown_run: run, nearest_runs: nearest } = JSON.parse(text) as Problem;
    if (typeof error === "string") return new Refused(status, error, run === undefined ? run : { run, nearest: nearest ?? [] });
  } catch {
    // A proxy on the way answers in its own words.
  }
  return new Refused(status, text.trim() || `${String(status)} ${statusText}`);
}

export function gapsOf(response: Response): string[] {
  const told = response.headers.get("Tensortap-Incomplete");
  if (!told) return [];
  try {
    return JSON.parse(told) as string[];
  } catch {
    return [told];
  }
}
