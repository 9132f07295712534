import { expect, test } from "vitest";
import { nowhere } from "../../app/address";
import { csvOfPicture, opened, valueOf, zoomed } from "./cells";
import { marksOf, scaleOf, share } from "./colours";
import { outstanding, Picture, type Cells } from "./picture";
import { chosenOf, rangeOf, statistics, textOf } from "./what";

const [error] = statistics;

/** Two rows, of places 4 and 6, over steps 10 to 14 in pairs; the second row has no cell in the middle. */
function cells(count = 2): Cells {
  return {
    length: 5,
    keys: [4, 4, 4, 6, 6],
    steps: [10, 12, 14, 10, 14],
    values: [1, 2, 3, NaN, -9],
    bad: [0n, 0n, 0n, 7n, 0n],
    count,
    rowOf: (i) => ({ label: `rank ${String(i)}`, place: i < 3 ? 4 : 6, rank: i, count, layer: "" }),
  };
}

test("cells stand where their row and step are, and where there is none it is said", () => {
  const picture = new Picture(cells());
  expect([picture.width, picture.height, picture.first]).toEqual([3, 2, 10]);
  expect([picture.value(0, 2), picture.value(1, 2), picture.badAt(1, 1), picture.badAt(1, 0)]).toEqual([3, -9, -1, 7]);
  if (error === undefined) throw new Error("there is no statistic");
  expect(valueOf(picture, { row: 1, column: 1 }, error)).toBe("nothing recorded");
  expect(valueOf(picture, { row: 1, column: 0 }, error)).toBe("7 tensors with NaN or infinity");
  expect(new Picture({ ...cells(), length: 0 }).height).toBe(0);
});

test("what is not finite comes first, then what is greatest in size", () => {
  const picture = new Picture(cells());
  expect(outstanding(picture, 3)).toEqual([
    { row: 1, column: 0 },
    { row: 1, column: 2 },
    { row: 0, column: 2 },
  ]);
  expect(picture.nextBad({ row: 0, column: 0 }, 1)).toEqual({ row: 1, column: 0 });
  expect(picture.nextBad({ row: 1, column: 0 }, -1)).toEqual({ row: 1, column: 0 });
});

test("a marked part is a range of steps and places, whichever corner it began at", () => {
  const picture = new Picture(cells());
  expect(zoomed(picture, { row: 1, column: 2 }, { row: 0, column: 1 })).toEqual({
    steps: { from: 12, to: 15 },
    places: { from: 4, to: 7 },
  });
  expect(opened(picture, { row: 0, column: 0 })).toBeNull();
  const single = new Picture(cells(1));
  expect(opened(single, { row: 0, column: 2 })).toEqual({ step: 12, rank: 0, module: "", op: "" });
});

test("the numbers of a picture are those that it shows", () => {
  expect(csvOfPicture(new Picture(cells()), "rank", "max").split("\n").slice(0, 2)).toEqual([
    "rank,rank_count,step,step_count,max,not_finite_tensor_count",
    "0,2,10,2,1,0",
  ]);
});

test("a scale tells apart what there is", () => {
  expect(scaleOf(Float64Array.of(1, 3, NaN))).toEqual({ kind: "linear", low: 1, high: 3 });
  expect(scaleOf(Float64Array.of(-1, 3))).toEqual({ kind: "signed", low: -3, high: 3 });
  const log = scaleOf(Float64Array.of(0, 1e-6, 1));
  expect(log).toEqual({ kind: "log", low: 1e-6, high: 1 });
  expect([share(log, 0), share(log, 1e-3), share(log, 1)]).toEqual([0, expect.closeTo(0.5), 1]);
  expect(marksOf(log, 3)).toEqual([1e-6, 1e-3, 1].map((n) => expect.closeTo(n, 9) as number));
  expect(scaleOf(Float64Array.of(NaN))).toEqual({ kind: "linear", low: 0, high: 1 });
  const one = scaleOf(Float64Array.of(5, 5));
  expect(share(one, 5)).toBe(0.5);
});

test("an address that makes no sense shows what is usual", () => {
  const chosen = chosenOf({ ...nowhere, problem: "p", statistic: "error", order: "constructor", steps: "9-3", role: "x" });
  expect([chosen.statistic.name, chosen.order, chosen.steps, chosen.role]).toEqual(["rms", "rank", null, "all"]);
  expect(chosenOf({ ...nowhere, problem: "p", benches: ["b"] }).statistic.name).toBe("error");
  expect(textOf(rangeOf("3-9"))).toBe("3-9");
});
