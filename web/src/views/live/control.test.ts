import { expect, test } from "vitest";
import { hindrance, outcomeOf, wanted, type Told } from "./control";

const told = (rank: number, state: string): Told => ({ rank, host: "", pid: 1, state, from_step: 0, step: 0 });

test("who may not is told why", () => {
  expect(hindrance({ role: "operator", control: true })).toBe("");
  expect(hindrance({ role: "operator", control: false })).toContain("without --control");
  expect(hindrance({ role: "reader", control: false })).toContain("reader");
});

test("one sentence says what came of it", () => {
  expect(outcomeOf("stop", { answers: [told(0, "stopped"), told(1, "stopped")], silent: [], complete: true })).toBe(
    "stop: all 2 ranks do as asked",
  );
  expect(outcomeOf("capture", { answers: [told(0, "refused")], silent: [1, 3], complete: false })).toBe(
    "capture: 1 rank refused; no agent answered for rank 1, 3",
  );
  expect(outcomeOf("poke", { answers: [], silent: [], complete: false })).toBe("poke: no rank of this run is alive");
  expect(outcomeOf("resume", { answers: [told(0, "pending")], silent: [], complete: false })).toContain("not all ranks");
});

test("a capture names modules only where some are wanted", () => {
  expect(wanted({ level: "mix", steps: 2, scope: " ", payload: false })).toEqual({ level: "mix", steps: 2, payload: false });
  expect(wanted({ level: "L0", steps: 1, scope: "layers.3.* head", payload: true })).toEqual({
    level: "L0",
    steps: 1,
    payload: true,
    scope: ["layers.3.*", "head"],
  });
});
