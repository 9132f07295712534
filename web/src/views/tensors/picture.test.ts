import { expect, test } from "vitest";
import { heatsOf, toldOf, type Cells, type Picture } from "./picture";

const cells = (more: Partial<Cells>): Cells => ({ dtype: "float32", shape: [1, 2], mean: [1, -3], nan: [], infinite: [], ...more });
const edge = { axis: 0, from: 0, to: 2, cells: 2 };

test("both sides have one scale, and the difference its own", () => {
  const picture: Picture = {
    slice: "0:1,0:2",
    elements: 2,
    rows: { ...edge, to: 1, cells: 1 },
    columns: { ...edge, axis: 1 },
    sides: [cells({}), cells({ mean: [1, -2] })],
    difference: { furthest: [0, -1], unlike: [] },
  };
  expect(heatsOf(picture, ["a", "b"]).map((h) => [h.title, h.reach])).toEqual([
    ["a", 3],
    ["b", 3],
    ["difference", 1],
  ]);
});

test("what is not finite is no number of the scale", () => {
  const side = cells({ mean: [5, null, 1, null], nan: [1, 0, 0, 0], infinite: [0, 2, 0, 0] });
  const [heat] = heatsOf({ slice: "", elements: 8, rows: edge, columns: edge, sides: [side] }, ["a"]);
  expect(heat?.shades).toEqual(["nan", "infinite", 1, "none"]);
  expect(heat?.reach).toBe(1);
});

test("a difference of infinity, and one of NaN alone, have no colour of a number", () => {
  const picture = {
    slice: "",
    elements: 2,
    rows: edge,
    columns: edge,
    sides: [cells({}), cells({})],
    difference: { furthest: ["Infinity", null], unlike: [0, 1] },
  };
  expect(heatsOf(picture, [])[2]?.shades).toEqual(["infinite", "nan"]);
});

test("a cell is told by its number, or by its range", () => {
  expect(toldOf(cells({}), 1)).toBe("−3");
  expect(toldOf(cells({ least: [0, 1], greatest: [2, 1] }), 0)).toBe("0 … 2, mean 1");
  expect(toldOf(cells({ mean: [null], nan: [2], infinite: [1] }), 0)).toBe("2 × NaN, 1 × ∞");
});
