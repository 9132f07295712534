// Which of a million rows of one height are drawn, and where. Browsers lay out no more than some 16 million pixels, so a
// longer list is squeezed: the scroll bar then moves over the list, and the rows stay as high as they are.

export interface Windowed {
  first: number; // row at the top, drawn or in part above
  count: number; // rows drawn
  height: number; // of all, in pixels
  top: number; // where the first drawn row stands
}

const tallest = 12_000_000;
const spare = 8; // rows drawn above and below what is seen

export function windowed(rows: number, rowHeight: number, scrolled: number, seen: number): Windowed {
  const whole = rows * rowHeight;
  const height = Math.min(whole, tallest);
  const at = rowAt(rows, rowHeight, scrolled, seen);
  const first = Math.max(0, Math.floor(at) - spare);
  const last = Math.min(rows, Math.ceil(at + seen / rowHeight) + spare);
  return { first, count: Math.max(0, last - first), height, top: scrolled - (at - first) * rowHeight };
}

/** The row at the upper edge, with its fraction, at a place of the scroll bar. */
export function rowAt(rows: number, rowHeight: number, scrolled: number, seen: number): number {
  const whole = rows * rowHeight;
  const height = Math.min(whole, tallest);
  if (height <= seen) return 0;
  const share = Math.min(1, Math.max(0, scrolled / (height - seen)));
  return (share * (whole - seen)) / rowHeight;
}

/** Where to scroll so that a row is seen: unmoved if it is, else with it in the middle. */
export function scrollTo(row: number, rows: number, rowHeight: number, scrolled: number, seen: number): number {
  const at = rowAt(rows, rowHeight, scrolled, seen);
  if (row >= Math.ceil(at) && row + 1 <= Math.floor(at + seen / rowHeight)) return scrolled;
  const whole = rows * rowHeight;
  const height = Math.min(whole, tallest);
  if (whole <= seen) return 0;
  const wanted = Math.min(whole - seen, Math.max(0, (row + 0.5) * rowHeight - seen / 2));
  return (wanted / (whole - seen)) * (height - seen);
}
