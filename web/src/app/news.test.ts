import { expect, test } from "vitest";
import type { Origin } from "../api/answers";
import { difference, notFinite } from "./news";

const origin = { rank: 2, step: 7, op: "Functional.linear.3.forward" } as Origin;

test("a first NaN is told with its place, and leads to the view of it", () => {
  const news = notFinite("bad", origin);
  expect(news.sentence).toBe("has NaN or infinity since step 7, rank 2, op Functional.linear.3.forward");
  expect([news.view, news.changes.problem]).toEqual(["overflow", "bad"]);
});

test("a first difference leads to the op where it began", () => {
  const news = difference("bad", ["good", "other"], { origins: [origin], divergence: [] });
  expect(news.sentence).toBe("differs from good, other since step 7, rank 2, op Functional.linear.3.forward");
  expect([news.view, news.changes]).toEqual([
    "diff",
    { problem: "bad", benches: ["good", "other"], rank: 2, step: 7, op: "Functional.linear.3.forward" },
  ]);
});

test("runs may differ without an op that does, as by what only one of them has", () => {
  const news = difference("bad", ["good"], { origins: [], divergence: [] });
  expect([news.sentence, news.view]).toEqual(["differs from good", "verdict"]);
});
