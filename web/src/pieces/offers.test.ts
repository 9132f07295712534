import { expect, test } from "vitest";
import type { RunOverview } from "../api/answers";
import { offersOf } from "./offers";

const runs = [
  { run: "bad", bench: "good" },
  { run: "good", bench: "" },
] as RunOverview[];

test("a view of one run offers runs, the latest few", () => {
  expect(offersOf(runs, "", false)).toEqual([
    { words: "bad", changes: { problem: "bad", benches: [] } },
    { words: "good", changes: { problem: "good", benches: [] } },
  ]);
  const many = Array.from({ length: 40 }, (_, i) => ({ run: String(i), bench: "" })) as RunOverview[];
  expect(offersOf(many, "", false).length).toBeLessThan(10);
});

test("a comparison that was made is offered, or a bench for the problem that is chosen", () => {
  expect(offersOf(runs, "", true)).toEqual([{ words: "bad with good", changes: { problem: "bad", benches: ["good"] } }]);
  expect(offersOf(runs, "good", true)).toEqual([{ words: "bad", changes: { problem: "good", benches: ["bad"] } }]);
});
