import { expect, test } from "vitest";
import { bytes, count, digits, numberOf, plural } from "./numbers";

test("numbers have the digits that matter", () => {
  const cases: [Parameters<typeof digits>[0], string][] = [
    [0, "0"],
    [0.0007528610762, "7.529e−4"],
    [0.25, "0.25"],
    [-12345.678, "−12350"],
    [1234567, "1.235e6"],
    [-1.6518e-6, "−1.652e−6"],
    ["NaN", "NaN"],
    ["Infinity", "∞"],
    ["-Infinity", "−∞"],
    [null, "–"],
    ["", "–"],
    [7n, "7"],
  ];
  for (const [given, want] of cases) expect(digits(given), String(given)).toBe(want);
});

test("what was not measured is no zero", () => {
  expect(numberOf(null)).toBeNull();
  expect(numberOf("")).toBeNull();
  expect(numberOf("NaN")).toBeNaN();
  expect(bytes(null)).toBe("–");
});

test("bytes have units, and counts their thousands", () => {
  expect([bytes(0), bytes(1023), bytes(1024), bytes(5.5 * 1024 ** 3), bytes(-2048)]).toEqual([
    "0 B",
    "1023 B",
    "1 KiB",
    "5.5 GiB",
    "−2 KiB",
  ]);
  expect([count(1815), plural(1, "rank"), plural(0, "rank"), plural(2000, "op")]).toEqual(["1,815", "1 rank", "0 ranks", "2,000 ops"]);
});
