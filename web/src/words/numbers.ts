// Numbers as people read them: with the digits that matter, and what is no number in words.

/** A number of an answer: JSON has no NaN and no infinity, so these come as text. */
export type Answered = number | string | null | undefined;

export function numberOf(v: Answered | bigint): number | null {
  if (v === null || v === undefined || v === "") return null;
  return Number(v);
}

/** Four digits; a plain number where that is short, else a power of ten. */
export function digits(v: Answered | bigint): string {
  const n = numberOf(v);
  if (n === null) return "–";
  if (Number.isNaN(n)) return "NaN";
  if (!Number.isFinite(n)) return n > 0 ? "∞" : "−∞";
  const size = Math.abs(n);
  if (n === 0) return "0";
  if (size < 1e-3 || size >= 1e6) return tenth(n);
  return minus(String(Number(n.toPrecision(4))));
}

function tenth(n: number): string {
  const [mantissa = "", power = ""] = n.toExponential(3).split("e");
  return minus(`${String(Number(mantissa))}e${power.replace("+", "")}`);
}

function minus(text: string): string {
  return text.replaceAll("-", "−");
}

export function count(n: number): string {
  return n.toLocaleString("en-US");
}

/** One thing, two things. */
export function plural(n: number, thing: string): string {
  return `${count(n)} ${thing}${n === 1 ? "" : "s"}`;
}

const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];

export function bytes(v: Answered | bigint, digits = 3): string {
  const n = numberOf(v);
  if (n === null) return "–";
  let size = n;
  let unit = 0;
  for (; Math.abs(size) >= 1024 && unit < units.length - 1; unit++) size /= 1024;
  const short = unit === 0 ? String(size) : String(Number(size.toPrecision(digits)));
  return `${minus(short)} ${units[unit] ?? ""}`;
}
