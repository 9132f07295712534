import { expect, test } from "vitest";
import { linesOf, peakOf, ranksHad, ranksOf, stacked, type Look, type Summary } from "./course";

function look(component: string, step: number, more: Partial<Look>): Look {
  const none = { allocated_bytes: null, reserved_bytes: null, peak_bytes: null, host_resident_bytes: null };
  return { rank: 0, device: "cuda:0", component, step, time_ns: (step + 5) * 1e9, ...none, ...more };
}

const looks = [
  look("all", 0, { allocated_bytes: 10 }),
  look("all", 1, { allocated_bytes: 30 }),
  look("weights", 0, { allocated_bytes: 4 }),
  look("weights", 1, { allocated_bytes: 4 }),
  look("kv", 1, { allocated_bytes: 1, reserved_bytes: 6 }),
  look("activations", 0, { peak_bytes: 2 }),
];

test("a line has its components in the order of the stack, a cache with its capacity", () => {
  const [line] = linesOf("r", looks);
  if (line === undefined) throw new Error("there is no line");
  expect([line.counter, line.parts.map((p) => p.component)]).toEqual(["allocated", ["weights", "kv", "activations"]]);
  expect(peakOf(line)).toEqual({ step: 1, seconds: 1, bytes: 30 });
  const { layers } = stacked(line);
  expect(layers.map((l) => [l.component, l.high])).toEqual([
    ["weights", [4, 4]],
    ["kv", [4, 10]],
    ["activations", [6, 12]],
  ]);
});

test("of a process without an allocator the resident set counts", () => {
  expect(
    linesOf("r", [look("all", 0, { device: "cpu", host_resident_bytes: 7 })]).map((l) => [l.device, l.counter, l.points.length]),
  ).toEqual([["cpu", "host resident", 1]]);
});

test("of runs of several sizes each is asked for the ranks that it has", () => {
  const has = (...ranks: number[]) => ranks.map((rank) => ({ rank }) as Summary);
  expect(ranksHad([0, 3], has(0, 0, 1))).toEqual([0]);
  expect(ranksHad([0, 3], has(3, 2, 1, 0))).toEqual([0, 3]);
});

test("ranks that grow are drawn before those with most", () => {
  const of = (rank: number, verdict: string, greatest: number) =>
    ({ rank, verdict, greatest_bytes: greatest, component: "all", counter: "allocated" }) as Summary;
  expect(ranksOf([of(0, "steady", 50), of(1, "steady", 90), of(2, "grows", 10)], 2)).toEqual([1, 2]);
});
