// Figures that a browser measures, for internal/dev/bench, which holds them against their marks.
import { existsSync, readFileSync, writeFileSync } from "node:fs";

export interface Figure {
  what: string;
  form: "ms" | "s" | "MB" | "frames" | "clicks"; // values are seconds, bytes, frames a second, or clicks
  values: number[];
  share?: number; // of the values that do not exceed the figure; without it, the median is the figure
  mark?: number;
  at_least?: boolean;
}

export const rounds = Number(process.env["TENSORTAP_ROUNDS"] ?? "1");

/** Adds figures to those of the measurements before, and says them. */
export function report(...figures: Figure[]): void {
  const file = process.env["TENSORTAP_FIGURES"];
  if (!file) throw new Error("TENSORTAP_FIGURES is to name the file of figures: make bench-web");
  for (const f of figures) console.log(`  ${f.what}: ${f.values.map((v) => v.toPrecision(3)).join(" ")}`);
  const before = existsSync(file) ? (JSON.parse(readFileSync(file, "utf8")) as Figure[]) : [];
  writeFileSync(file, JSON.stringify([...before, ...figures]));
}

export async function seconds(call: () => Promise<unknown>): Promise<number> {
  const begin = performance.now();
  await call();
  return (performance.now() - begin) / 1e3;
}

export async function repeated(times: number, call: (round: number) => Promise<number>): Promise<number[]> {
  const values = [];
  for (let round = 0; round < times; round++) values.push(await call(round));
  return values;
}
