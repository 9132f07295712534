import { expect, test } from "vitest";
import { livesOf, milliseconds, type RequestMoment } from "./requests";

function moment(request: string, at: number, what: string, more: Partial<RequestMoment> = {}): RequestMoment {
  return { request, event_time_ns: at, moment: what, reason: "", step_ms: null, ...more } as RequestMoment;
}

test("a request's moments are one life, and lives come in the order of their begin", () => {
  const lives = livesOf([
    moment("late", 50, "received"),
    moment("early", 10, "received"),
    moment("early", 20, "decode", { step_ms: 1 }),
    moment("early", 30, "finished", { reason: "length" }),
  ]);
  expect(lives.map((l) => [l.request, l.from, l.to, l.end, l.moments.length])).toEqual([
    ["early", 10, 1_000_020, "finished: length", 3],
    ["late", 50, 50, "", 1],
  ]);
});

test("durations have the digits that matter", () => {
  expect([null, 0, 12.3456, 123_456].map(milliseconds)).toEqual(["", "0 ms", "12.3 ms", "123.5 s"]);
});
