import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { counted, whenQuiet } from "./quiet";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

test("who can wait waits for what is asked, answered or not, and not for ever", async () => {
  const said: string[] = [];
  const signal = new AbortController().signal;
  let fail: (problem: Error) => void = () => undefined;
  const failing = counted(new Promise((_, refuse) => (fail = refuse))).catch(() => said.push("failed"));
  void whenQuiet(signal).then(() => said.push("went"));
  await vi.advanceTimersByTimeAsync(1_000);
  expect(said).toEqual([]);
  fail(new Error("no"));
  await failing;
  await vi.advanceTimersByTimeAsync(1_000);
  expect(said).toEqual(["failed", "went"]);
  void counted(new Promise(() => undefined));
  void whenQuiet(signal).then(() => said.push("went all the same"));
  await vi.advanceTimersByTimeAsync(10_000);
  expect(said).toContain("went all the same");
});

test("what is no longer wanted does not go on", async () => {
  const stop = new AbortController();
  const waits = whenQuiet(stop.signal);
  stop.abort();
  const refused = expect(waits).rejects.toThrow();
  await vi.advanceTimersByTimeAsync(1_000);
  await refused;
});
