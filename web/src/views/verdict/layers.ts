// The error of each layer on a scale of powers of ten, for the picture.
import type { Layer } from "../../api/answers";
import { numberOf } from "../../words/numbers";

export interface Bar {
  layer: string;
  direction: string;
  share: number; // of the scale, 0 to 1
  bad: boolean; // NaN or infinity differs
  differing: number;
  error: number | null;
}

export const scale = { least: -8, most: 1 }; // powers of ten

export function barsOf(layers: Layer[], direction: string): Bar[] {
  return layers
    .filter((l) => l.direction === direction)
    .map((l) => {
      const error = numberOf(l.greatest_error);
      const bad = l.not_finite_count > 0;
      return {
        layer: l.layer || "outside of layers",
        direction,
        share: bad ? 1 : shareOf(error),
        bad,
        differing: l.differing_count,
        error,
      };
    });
}

export function shareOf(error: number | null): number {
  if (error === null || Number.isNaN(error) || error <= 0) return 0;
  const share = (Math.log10(error) - scale.least) / (scale.most - scale.least);
  return Math.min(1, Math.max(0.02, share));
}

export function directionsOf(layers: Layer[]): string[] {
  return [...new Set(layers.map((l) => l.direction))];
}

/** The powers of ten under the picture. */
export function ticks(): { share: number; power: number }[] {
  const all = [];
  for (let power = scale.least; power <= scale.most; power += 3)
    all.push({ power, share: (power - scale.least) / (scale.most - scale.least) });
  return all;
}
