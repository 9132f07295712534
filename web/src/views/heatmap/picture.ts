// A picture of ranks or layers over steps, in cells that the database added up. Cells stay in flat arrays: there may be
// half a million.

export interface Row {
  label: string;
  place: number; // of a rank in the order of ranks, of a layer its index
  rank: number | null; // the first that it stands for; null for all
  count: number; // ranks that it stands for
  layer: string; // null where rows are ranks
}

/** Columns of an answer, in rows of one cell each: ordered by row, then step. */
export interface Cells {
  length: number;
  keys: ArrayLike<number | bigint>; // that tell rows apart: places of ranks, or indices of layers
  steps: ArrayLike<number>;
  values: ArrayLike<number>; // NaN where nothing finite is known
  bad: ArrayLike<number | bigint>; // what is not finite
  count: number; // steps of a column
  rowOf: (cell: number) => Row;
}

export class Picture {
  readonly rows: Row[] = [];
  readonly width: number;
  readonly first: number; // step of the first column
  readonly stride: number; // steps of a column
  readonly values: Float64Array; // row after row; NaN where nothing is known
  readonly bad: Float64Array; // -1 where there is no cell

  constructor(cells: Cells) {
    this.stride = cells.count;
    const [from, to] = reachOf(cells);
    this.first = from;
    this.width = cells.length === 0 ? 0 : Math.floor((to - from) / this.stride) + 1;
    let last: number | bigint | undefined;
    for (let i = 0; i < cells.length; i++) {
      if (cells.keys[i] !== last) this.rows.push(cells.rowOf(i));
      last = cells.keys[i];
    }
    this.values = new Float64Array(this.rows.length * this.width).fill(NaN);
    this.bad = new Float64Array(this.rows.length * this.width).fill(-1);
    this.#fill(cells);
  }

  #fill(cells: Cells): void {
    let row = -1;
    let last: number | bigint | undefined;
    for (let i = 0; i < cells.length; i++) {
      if (cells.keys[i] !== last) row++;
      last = cells.keys[i];
      const at = row * this.width + Math.floor(((cells.steps[i] ?? 0) - this.first) / this.stride);
      this.values[at] = cells.values[i] ?? NaN;
      this.bad[at] = Number(cells.bad[i] ?? 0);
    }
  }

  get height(): number {
    return this.rows.length;
  }

  value(row: number, column: number): number {
    return this.values[row * this.width + column] ?? NaN;
  }

  /** Values that are not finite below a cell; -1 where nothing was recorded. */
  badAt(row: number, column: number): number {
    return this.bad[row * this.width + column] ?? -1;
  }

  step(column: number): number {
    return this.first + column * this.stride;
  }

  /** The next cell with something that is not finite, in reading order; where none follows, the first. Null: there is none. */
  nextBad(from: { row: number; column: number }, direction: 1 | -1): { row: number; column: number } | null {
    const all = this.bad.length;
    const start = from.row * this.width + from.column;
    for (let far = 1; far <= all; far++) {
      const at = (start + direction * far + all) % all;
      if ((this.bad[at] ?? 0) > 0) return { row: Math.floor(at / this.width), column: at % this.width };
    }
    return null;
  }
}

function reachOf(cells: Cells): [number, number] {
  let [from, to] = [Infinity, 0];
  for (let i = 0; i < cells.length; i++) {
    from = Math.min(from, cells.steps[i] ?? 0);
    to = Math.max(to, cells.steps[i] ?? 0);
  }
  return [cells.length === 0 ? 0 : from, to];
}

export interface Told {
  row: number;
  column: number;
}

/** The cells that stand out, those that are not finite first, then the greatest in size. */
export function outstanding(picture: Picture, most: number): Told[] {
  const known = Array.from(picture.bad.keys()).filter((i) => (picture.bad[i] ?? -1) >= 0);
  const weight = (i: number) => {
    const size = Math.abs(picture.values[i] ?? NaN);
    return Number.isNaN(size) ? -1 : size;
  };
  known.sort((a, b) => Number((picture.bad[b] ?? 0) > 0) - Number((picture.bad[a] ?? 0) > 0) || weight(b) - weight(a) || a - b);
  return known.slice(0, most).map((i) => ({ row: Math.floor(i / picture.width), column: i % picture.width }));
}
