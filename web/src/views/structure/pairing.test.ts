import { expect, test } from "vitest";
import { forAllLayers, mappingFile, readPairs, refused, writePair, type Pair } from "./pairing";

const module: Pair = { kind: "modules", problem: "model.layers.3.mlp", bench: "net.blocks.3.ffn" };
const op: Pair = { kind: "ops", problem: "Functional.silu.0.forward", bench: "Torch.silu.0.forward" };

test("pairs are the lines of a mapping file", () => {
  expect(mappingFile([op, module])).toBe(
    "modules:\n  model.layers.3.mlp: net.blocks.3.ffn\nops:\n  Functional.silu.0.forward: Torch.silu.0.forward\n",
  );
  expect(mappingFile([])).toBe("");
  expect(mappingFile([{ ...module, problem: "a: b #c" }])).toContain('  "a: b #c": net.blocks.3.ffn');
});

test("a pair stands for every layer by the number that both have", () => {
  expect(forAllLayers(module)).toEqual({ kind: "modules", problem: "model.layers.<n>.mlp", bench: "net.blocks.<n>.ffn" });
  expect(forAllLayers({ ...module, bench: "net.blocks.4.ffn" })).toBeNull();
  expect(forAllLayers(op)).toBeNull();
});

test("a link keeps pairs, and what is none is left out", () => {
  expect(readPairs([writePair(module), "{", '["others","a","b"]', '["ops",1,"b"]', writePair(op)])).toEqual([module, op]);
});

test("names that mean patterns are no line", () => {
  expect(refused({ ...op, problem: "a[0]" })).toContain("by hand");
  expect(refused({ ...op, bench: "" })).toContain("each run");
  expect([refused(op), refused(forAllLayers(module) ?? op)]).toEqual(["", ""]);
});
