import { expect, test } from "vitest";
import { before, clock, ranksOf, rankOfLevel, shownText, withoutRepeated, type Line } from "./lines";

function line(more: Partial<Line>): Line {
  return {
    event_time_ns: 1_795_219_200_000_000_000,
    rank: 0,
    step: null,
    host: "h",
    pid: 7,
    stream: "out",
    level: "",
    text: "x",
    exception: "",
    fields: {},
    ...more,
  } as Line;
}

test("a line that was printed of a record of logging is shown once", () => {
  const record = line({ stream: "logging", text: "loss 0.5" });
  const printed = line({ stream: "err", text: "10:00 INFO loss 0.5" });
  expect(withoutRepeated([record, printed, printed])).toEqual([record, printed]);
  const other = line({ ...printed, pid: 8 });
  const late = line({ ...printed, event_time_ns: record.event_time_ns + 6e9 });
  expect(withoutRepeated([record, other, late])).toEqual([record, other, late]);
});

test("a traceback that was printed of a record is shown once", () => {
  const record = line({ stream: "logging", text: "failed", exception: "Traceback\nValueError: no" });
  const printed = line({ stream: "err", text: "Traceback", exception: "Traceback\nValueError: no" });
  expect(withoutRepeated([record, printed])).toEqual([record]);
});

test("a line without a rank or level has its place", () => {
  expect(ranksOf([line({ rank: null }), line({ rank: 10 }), line({ rank: 2 }), line({ rank: 2 })])).toEqual([2, 10, null]);
  expect(rankOfLevel(line({}))).toBe(1);
  expect(rankOfLevel(line({ level: "strange" }))).toBe(1);
  expect(rankOfLevel(line({ level: "critical" }))).toBe(4);
});

test("a row names the exception of a traceback", () => {
  expect(shownText(line({ text: "skipped", exception: "Traceback\n  File\nValueError: no\n" }))).toBe("skipped  ⟶  ValueError: no");
  expect(shownText(line({ text: "ValueError: no", exception: "Traceback\nValueError: no" }))).toBe("ValueError: no");
});

test("times are told to the millisecond, and asked for as whole numbers", () => {
  expect(clock(1_795_219_200_123_000_064)).toBe("00:00:00.123");
  expect(before(1_795_219_200_123_000_064, 1)).toBe("1795219199123000000");
});
