import { expect, test } from "vitest";
import { around, formatSlice, indicesOf, parseSlice, placeOf, withAxes, withPart, zoomed, type Edge } from "./slices";

const edge = (axis: number, from: number, to: number, cells: number): Edge => ({ axis, from, to, cells });

test("a slice reads back as it was written", () => {
  expect(formatSlice(parseSlice("3,0:512,7:8"))).toBe("3,0:512,7:8");
  expect(parseSlice("")).toEqual([]);
  expect(withPart("3,0:512", 0, { index: 4 })).toBe("4,0:512");
});

test("other axes are shown whole, and the rest at one index", () => {
  expect(withAxes("1,2:3,0:8", [4, 5, 8], [0, 2])).toBe("0:4,0,0:8");
  expect(withAxes("1,2:3,0:8", [4, 5, 8], [1, 2])).toBe("1,2:3,0:8");
});

test("cells have every index once, however many there are", () => {
  const rows = edge(0, 10, 27, 5);
  const cells = Array.from({ length: 5 }, (_, i) => indicesOf(rows, i));
  expect(cells[0]?.from).toBe(10);
  expect(cells.at(-1)?.to).toBe(27);
  for (const [i, cell] of cells.entries()) {
    if (i > 0) expect(cell.from).toBe(cells[i - 1]?.to);
    // As the program counts: index × cells / size.
    for (let at = cell.from; at < cell.to; at++) expect(Math.floor(((at - 10) * 5) / 17)).toBe(i);
  }
});

test("what is marked becomes the slice, in either direction", () => {
  expect(zoomed("3,0:100,0:10", edge(1, 0, 100, 10), edge(2, 0, 10, 10), [4, 2], [1, 5])).toBe("3,10:50,2:6");
  expect(zoomed("0:100", edge(-1, 0, 1, 1), edge(0, 0, 100, 10), [0, 2], [0, 2])).toBe("20:30");
  expect(placeOf("3,0:100,0:10", edge(1, 0, 100, 10), edge(2, 0, 10, 10), 4, 2)).toBe("[3, 40–49, 2]");
});

test("an element stands in the middle of its slice, or at the edge of the tensor", () => {
  expect(around("0,0:100,0:10", [8, 100, 10], [5, 50, 9], 16)).toBe("5,42:58,0:10");
  expect(around("0,0:100,0:100", [8, 100, 100], [5, 1, 99], 16)).toBe("5,0:16,84:100");
});
