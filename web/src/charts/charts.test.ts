import { expect, test } from "vitest";
import { powers, ticks } from "./axis";
import { csvOf } from "./csv";
import { bytes } from "../words/numbers";
import { svgOf } from "./drawing";
import { named, roomFor } from "./frame";

test("a file in SVG has hostile names as text", () => {
  const text = svgOf({
    width: 10,
    height: 10,
    ground: "#fff",
    shapes: [{ kind: "text", x: 1, y: 2.005, text: `</text><script>"&\u0000`, colour: 'red"', anchor: "start" }],
  });
  expect(text).toContain("&lt;/text&gt;&lt;script&gt;&quot;&amp;\ufffd</text>");
  expect(text).toContain('fill="red&quot;"');
  expect(text).not.toContain("<script>");
});

test("CSV keeps what it is given, and no name becomes a formula", () => {
  const rows = [
    ["=1+1", 1.5, null],
    ['a "b", c', NaN, "-5"],
  ];
  expect(csvOf(["x", "y", "z"], rows)).toBe(`x,y,z\n'=1+1,1.5,\n"a ""b"", c",NaN,-5\n`);
});

test("axes have round numbers", () => {
  expect(ticks(0, 10_000, 5)).toEqual([0, 2000, 4000, 6000, 8000, 10000]);
  expect(ticks(0, 3, 10, "whole")).toEqual([0, 1, 2, 3]);
  expect(ticks(5, 5, 3)).toEqual([5]);
  expect(ticks(0, 3 * 2 ** 30, 4, "bytes")).toEqual([0, 1, 2, 3].map((n) => n * 2 ** 30));
  expect(powers(1e-8, 1, 5)).toEqual([1e-8, 1e-6, 1e-4, 1e-2, 1]);
  expect(powers(2, 7, 5)).toEqual([2, 7]);
});

test("beside an axis is room for its longest word", () => {
  const ofDejaVu = 0.6365 * 12; // a digit, of the widest font that the page is shown in
  expect(roomFor(["0 B", "108.9340 MiB"])).toBeGreaterThanOrEqual("108.9340 MiB".length * ofDejaVu + 8);
  expect(roomFor(["0 B", "1 GiB"])).toBe(76);
});

test("numbers that lie close beside each other are told apart", () => {
  const axis = { from: 0, to: 1, words: bytes };
  const near = [654.125, 654.25].map((n) => n * 2 ** 20);
  expect(named(axis, near).map(([, word]) => word)).toEqual(["654.1 MiB", "654.3 MiB"]);
  expect(named(axis, [0, 2 ** 30]).map(([, word]) => word)).toEqual(["0 B", "1 GiB"]);
});
