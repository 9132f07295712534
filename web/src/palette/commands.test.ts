import { expect, test, vi } from "vitest";
import { nowhere } from "../app/address";
import { commandsOf, found } from "./commands";

function doing() {
  return { go: vi.fn(), refine: vi.fn(), turnTheme: vi.fn() };
}

const here = { ...nowhere, problem: "bad", benches: ["good"] };

test("a command is found by its words, and does what it says", () => {
  const does = doing();
  const commands = commandsOf(here, ["bad", "good", "other"], does);
  found(commands, "go diff")[0]?.run();
  expect(does.go).toHaveBeenCalledWith("diff");
  found(commands, "swap")[0]?.run();
  expect(does.refine).toHaveBeenCalledWith({ problem: "good", benches: ["bad"], rank: null, step: null, op: "" });
  expect(found(commands, "other").map((c) => c.title)).toEqual(["Problem: other", "Bench: other"]);
  expect(found(commands, "no such thing")).toEqual([]);
});

test("a run is not offered for the side that it is on", () => {
  const titles = commandsOf(here, ["bad", "good"], doing()).map((c) => c.title);
  expect(titles).toContain("Problem: good");
  expect(titles).toContain("Bench: bad");
  expect(titles).not.toContain("Problem: bad");
  expect(titles).not.toContain("Bench: good");
});

test("of many runs as many are listed as a person reads", () => {
  const runs = Array.from({ length: 1000 }, (_, i) => `run-${String(i)}`);
  expect(found(commandsOf(nowhere, runs, doing()), "run")).toHaveLength(50);
  expect(found(commandsOf(nowhere, runs, doing()), "bench: run-999").map((c) => c.title)).toEqual(["Bench: run-999"]);
});
