// The ops of one step of two runs, in the order that merges both. A million of them stay in the columns that came over
// the wire: a row is read when it is drawn.
import { whileIdle } from "../../pieces/idle";
import { codeOf, differing } from "../../words/verdicts";

/** A column of an answer. */
export interface Column {
  get: (row: number) => unknown;
}

export class Sequence {
  readonly length: number;
  readonly codes: Uint8Array; // of verdicts, as in words/verdicts.ts
  readonly #columns: Record<string, Column>;
  readonly #names: string[] = []; // what is searched of each row, in small letters, as far as it was read

  constructor(length: number, columns: Record<string, Column>) {
    this.length = length;
    this.#columns = columns;
    this.codes = Uint8Array.from({ length }, (_, i) => codeOf(this.text("verdict", i)));
  }

  text(column: string, row: number): string {
    const value = this.#columns[column]?.get(row);
    if (value === null || value === undefined) return "";
    return value instanceof Uint8Array ? new TextDecoder().decode(value) : String(value as string | number | bigint);
  }

  number(column: string, row: number): number | null {
    const value = this.#columns[column]?.get(row);
    return value === null || value === undefined ? null : Number(value);
  }

  /** The op by which a row is known: the problem's, or the bench's where it stands alone. */
  op(row: number): string {
    return this.text("problem_op", row) || this.text("bench_op", row);
  }

  /** Ops and module of a row, in small letters. */
  names(row: number): string {
    return (this.#names[row] ??= ["problem_op", "bench_op", "module"].map((c) => this.text(c, row).toLowerCase()).join("\n"));
  }

  rowOf(op: string): number {
    for (let row = 0; row < this.length; row++) if (this.op(row) === op) return row;
    return -1;
  }

  firstDiffering(): number {
    return this.codes.findIndex((c) => differing.has(c));
  }
}

export interface Filter {
  verdicts: string[]; // empty for all
  module: string; // and what is in it
  dtype: string;
  find: string; // a part of an op or module
}

/** The rows that a filter lets through, in order. */
export function rowsOf(s: Sequence, f: Filter): Uint32Array {
  const wanted = new Set(f.verdicts.map(codeOf));
  const find = f.find.toLowerCase();
  const rows = new Uint32Array(s.length);
  let n = 0;
  for (let row = 0; row < s.length; row++) {
    if (wanted.size > 0 && !wanted.has(s.codes[row] ?? 0)) continue;
    if (f.dtype !== "" && !s.text("dtype", row).split(" ").includes(f.dtype)) continue;
    if (f.module !== "" && !inModule(s.text("module", row), f.module)) continue;
    if (find !== "" && !s.names(row).includes(find)) continue;
    rows[n++] = row;
  }
  return rows.subarray(0, n);
}

/** layers.1 is in model.layers.1 and holds model.layers.1.mlp, and layers.10 is another. */
export function inModule(module: string, wanted: string): boolean {
  return `.${module}.`.includes(`.${wanted}.`);
}

/** Reads the names of all rows while the page has nothing else to do, so that the first search need not. It returns what ends it. */
export function readAhead(s: Sequence): () => void {
  let row = 0;
  return whileIdle((left) => {
    while (row < s.length && left()) s.names(row++);
    return row < s.length;
  });
}

/** The next shown row that differs, in a direction; where none follows, the first from the other end. */
export function nextDiffering(s: Sequence, rows: Uint32Array, from: number, direction: 1 | -1): number {
  for (let far = 1; far <= rows.length; far++) {
    const at = (from + direction * far + rows.length * 2) % rows.length;
    if (differing.has(s.codes[rows[at] ?? 0] ?? 0)) return at;
  }
  return -1;
}

/** The worst verdict of the rows that share each pixel of a map; codes stand in order, the worst first. */
export function worstByPixel(s: Sequence, rows: Uint32Array, pixels: number): Uint8Array {
  const worst = new Uint8Array(pixels).fill(255);
  for (let i = 0; i < rows.length; i++) {
    const pixel = Math.min(pixels - 1, Math.floor((i / rows.length) * pixels));
    const code = s.codes[rows[i] ?? 0] ?? 255;
    if (code < (worst[pixel] ?? 255)) worst[pixel] = code;
  }
  return worst;
}

export function countsOf(s: Sequence): Map<number, number> {
  const counts = new Map<number, number>();
  for (const code of s.codes) counts.set(code, (counts.get(code) ?? 0) + 1);
  return counts;
}

/** The dtypes of a sequence, for its filter; a few thousand rows tell them. */
export function dtypesOf(s: Sequence): string[] {
  const found = new Set<string>();
  const stride = Math.max(1, Math.floor(s.length / 5_000));
  for (let row = 0; row < s.length; row += stride) for (const dtype of s.text("dtype", row).split(" ")) if (dtype) found.add(dtype);
  return [...found].sort();
}
