// Cells of a heat-map as pixels, one for each, to be stretched over a chart.
import type { Colour } from "./tokens";

/** A colour as pixels of a canvas have it, the byte of red first. */
export function packed([r, g, b]: Colour): number {
  return (255 << 24) | (b << 16) | (g << 8) | r;
}

/** Cells row by row. A colour is packed; 0 leaves a cell out. */
export function cellPixels(columns: number, rows: number, colourOf: (cell: number) => number): HTMLCanvasElement {
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [Math.max(1, columns), Math.max(1, rows)];
  const to = canvas.getContext("2d");
  if (to === null) return canvas;
  const image = to.createImageData(canvas.width, canvas.height);
  const pixels = new Uint32Array(image.data.buffer);
  for (let cell = 0; cell < columns * rows; cell++) pixels[cell] = colourOf(cell);
  to.putImageData(image, 0, 0);
  return canvas;
}
