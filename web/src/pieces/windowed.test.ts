import { expect, test } from "vitest";
import { rowAt, scrollTo, windowed } from "./windowed";

test("a short list is drawn whole", () => {
  expect(windowed(5, 20, 0, 400)).toEqual({ first: 0, count: 5, height: 100, top: 0 });
  expect(windowed(0, 20, 0, 400)).toMatchObject({ count: 0, height: 0 });
});

test("of a long list only what is seen is drawn", () => {
  const w = windowed(100_000, 20, 20 * 5_000, 400);
  expect(w.height).toBe(2_000_000);
  expect(w.first).toBe(4_992);
  expect(w.count).toBe(36);
  expect(w.top).toBe(4_992 * 20);
});

test("a million rows reach their end, though no browser is that tall", () => {
  const [rows, height, seen] = [1_000_000, 26, 600];
  const end = windowed(rows, height, 0, seen).height - seen;
  const w = windowed(rows, height, end, seen);
  expect(w.first + w.count).toBe(rows);
  expect(w.top + w.count * height).toBeCloseTo(end + seen, 3);
  expect(rowAt(rows, height, end / 2, seen)).toBeCloseTo((rows - seen / height) / 2, 3);
});

test("a row is scrolled to, and not if it is seen", () => {
  for (const rows of [1_000, 1_000_000]) {
    for (const row of [0, 17, Math.floor(rows / 2), rows - 1]) {
      const to = scrollTo(row, rows, 26, 0, 600);
      const at = rowAt(rows, 26, to, 600);
      expect(at, `${String(row)} of ${String(rows)}`).toBeLessThanOrEqual(row + 1e-6);
      expect(at + 600 / 26).toBeGreaterThanOrEqual(row + 1 - 1e-6);
      expect(scrollTo(row, rows, 26, to, 600)).toBe(to);
    }
  }
});
