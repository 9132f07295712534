import { expect, test } from "vitest";
import { ago, utc } from "./moments";

test("times are UTC", () => {
  expect(utc(1_795_219_200_000_000_000)).toBe("2026-11-21 00:00:00 UTC");
  expect(utc(0)).toBe("–");
});

test("a time ago has the greatest whole unit", () => {
  const now = 1_795_219_200_000;
  const before = (seconds: number) => ago((now - seconds * 1e3) * 1e6, now);
  expect([before(-5), before(59), before(60), before(7_300), before(200_000)]).toEqual([
    "just now",
    "just now",
    "1 minute ago",
    "2 hours ago",
    "2 days ago",
  ]);
});
