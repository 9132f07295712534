import { untrack } from "svelte";
import { Refused, type UnknownRun } from "../api/client";
import { live } from "../app/live.svelte";
import { keep, keptOf } from "./kept";

const rest = 3_000; // milliseconds before what did not answer is asked again

/** Whether another try may do: nothing answered, or something did not do so just then. */
function isPassing(problem: unknown): boolean {
  return problem instanceof Refused && (problem.status === 0 || problem.status === 503);
}

/** Questions of the same name are the same question. */
export interface Question<T> {
  name: string;
  ask: (signal: AbortSignal) => Promise<T>;
  kept?: string; // with its name, what the answer is kept by for who comes back to a view; without, it is not kept
}

/**
 * The answer to a question that is asked again when it becomes another, and when runs go on. An answer to the same
 * question stays until the next one is there. A question that is no longer wanted is cancelled.
 */
export class Asked<T> {
  value: T | undefined = $state.raw();
  error: string = $state("");
  unknown: UnknownRun | undefined = $state.raw(); // why there is no answer, if that is why
  busy: boolean = $state(false);
  #name: string | undefined;
  #beat = -1;
  #stale = false; // what is stored changed since the question under way was asked
  #stop = new AbortController();

  /** Where the question is null, there is nothing to ask. To be made while a component is. */
  constructor(question: () => Question<T> | null) {
    $effect(() => {
      const [beat, asked] = [live.beat, question()];
      untrack(() => {
        this.#turn(asked, beat);
      });
    });
    $effect(() => () => {
      this.#stop.abort();
    });
  }

  #turn(question: Question<T> | null, beat: number): void {
    let known = false; // nothing has come since the answer that was kept
    if (question?.name === this.#name) {
      if (beat === this.#beat) return;
      // An answer that takes longer than runs take to change is awaited all the same.
      if (this.busy) this.#stale = true;
    } else {
      this.#stop.abort();
      this.#stop = new AbortController();
      const before = keptOf(question);
      known = before?.beat === beat && untrack(() => live.connected);
      [this.value, this.busy] = [before?.value as T | undefined, false];
      this.#fault(null);
    }
    [this.#name, this.#beat] = [question?.name, beat];
    if (question !== null && !this.busy && !known) void this.#ask(question, this.#stop.signal);
  }

  async #ask(question: Question<T>, signal: AbortSignal): Promise<void> {
    [this.busy, this.#stale] = [true, false];
    const beat = this.#beat;
    try {
      const value = await question.ask(signal);
      if (signal.aborted) return;
      keep(question, value, beat);
      this.value = value;
      this.#fault(null);
    } catch (problem) {
      if (signal.aborted) return;
      if (isPassing(problem)) this.#askLater(question, signal);
      if (!isPassing(problem) || this.value === undefined) {
        this.value = undefined;
        this.#fault(problem);
      }
    }
    this.busy = false;
    if (this.#stale) void this.#ask(question, signal);
  }

  #fault(problem: unknown): void {
    this.error = problem === null ? "" : problem instanceof Error ? problem.message : String(problem);
    this.unknown = problem instanceof Refused ? problem.unknown : undefined;
  }

  /** An answer that is there stays meanwhile. */
  #askLater(question: Question<T>, signal: AbortSignal): void {
    setTimeout(() => {
      if (!signal.aborted && !this.busy) void this.#ask(question, signal);
    }, rest);
  }
}
