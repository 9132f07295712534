// From values to colours that people of any colour vision tell apart: dark blue to yellow for what is above zero (cividis),
// blue over white to orange for what may be either (Okabe and Ito).
import { powers, ticks } from "../../charts/axis";
import { packed } from "../../charts/cells";
import type { Colour } from "../../charts/tokens";

const cividis: readonly Colour[] = [
  [0, 34, 78],
  [18, 53, 112],
  [59, 73, 108],
  [87, 93, 109],
  [112, 113, 115],
  [138, 134, 120],
  [165, 156, 116],
  [195, 179, 105],
  [225, 204, 85],
  [254, 232, 56],
];

const diverging: readonly Colour[] = [
  [0, 78, 140],
  [86, 160, 211],
  [240, 240, 240],
  [232, 140, 70],
  [170, 70, 0],
];

export interface Scale {
  kind: "linear" | "log" | "signed";
  low: number;
  high: number;
}

/** The least, the greatest, and the least above zero of what is finite. */
function span(values: Float64Array): [low: number, high: number, above: number] {
  let [low, high, above] = [Infinity, -Infinity, Infinity];
  for (const v of values) {
    if (!Number.isFinite(v)) continue;
    low = Math.min(low, v);
    high = Math.max(high, v);
    if (v > 0) above = Math.min(above, v);
  }
  return [low, high, above];
}

/** A scale on which what a picture holds can be told apart: of powers of ten where it spans several. */
export function scaleOf(values: Float64Array): Scale {
  const [low, high, above] = span(values);
  if (low > high) return { kind: "linear", low: 0, high: 1 };
  if (low < 0 && high > 0) return { kind: "signed", low: -Math.max(-low, high), high: Math.max(-low, high) };
  if (low >= 0 && high > 50 * above) return { kind: "log", low: Math.max(above, high * 1e-12), high };
  const room = low === high ? (Math.abs(low) || 1) / 2 : 0;
  return { kind: "linear", low: low - room, high: high + room };
}

/** Where on the scale a value stands, from 0 to 1. */
export function share(scale: Scale, value: number): number {
  const { low, high } = scale;
  const raw = scale.kind === "log" ? Math.log(Math.max(value, low) / low) / Math.log(high / low) : (value - low) / (high - low);
  return Math.min(1, Math.max(0, raw));
}

export function colourAt(scale: Scale, at: number): Colour {
  const stops = scale.kind === "signed" ? diverging : cividis;
  const place = at * (stops.length - 1);
  const [a, b] = [stops[Math.floor(place)] ?? [0, 0, 0], stops[Math.ceil(place)] ?? [0, 0, 0]];
  const mix = (i: 0 | 1 | 2) => Math.round(a[i] + (b[i] - a[i]) * (place % 1));
  return [mix(0), mix(1), mix(2)];
}

export function css([r, g, b]: Colour): string {
  return `rgb(${String(r)} ${String(g)} ${String(b)})`;
}

/** 256 colours of a scale as pixels of a canvas have them, the bytes of red first. */
export function palette(scale: Scale): Uint32Array {
  return Uint32Array.from({ length: 256 }, (_, i) => packed(colourAt(scale, i / 255)));
}

/** Numbers beside the legend. */
export function marksOf(scale: Scale, most: number): number[] {
  return scale.kind === "log" ? powers(scale.low, scale.high, most) : ticks(scale.low, scale.high, most);
}
