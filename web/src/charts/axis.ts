// Numbers beside an axis: round ones, few enough to be read.

/** Round numbers between two, at most so many. Whole ones where the axis counts things, and powers of two for bytes. */
export function ticks(from: number, to: number, most: number, kind: "any" | "whole" | "bytes" = "any"): number[] {
  if (!(to > from)) return [from];
  const step = stepOf((to - from) / Math.max(1, most), kind);
  const found: number[] = [];
  for (let i = Math.ceil(from / step - 1e-9); i * step <= to + step * 1e-9; i++) found.push(i * step + 0);
  return found;
}

function stepOf(least: number, kind: "any" | "whole" | "bytes"): number {
  if (kind === "bytes") return 2 ** Math.ceil(Math.log2(Math.max(1, least)));
  const power = 10 ** Math.floor(Math.log10(least));
  const step = ([1, 2, 5, 10].find((m) => m * power >= least * (1 - 1e-9)) ?? 10) * power;
  return kind === "whole" ? Math.max(1, step) : step;
}

/** The powers of ten between two numbers above zero, at most so many. */
export function powers(from: number, to: number, most: number): number[] {
  const [low, high] = [Math.ceil(Math.log10(from) - 1e-9), Math.floor(Math.log10(to) + 1e-9)];
  const stride = Math.max(1, Math.ceil((high - low + 1) / most));
  const found: number[] = [];
  for (let power = low; power <= high; power += stride) found.push(Number(`1e${String(power)}`));
  return found.length > 1 ? found : [from, to];
}
