// The bars of places as a drawing, for a file.
import type { Drawing, Shape } from "../../charts/drawing";
import { token } from "../../charts/tokens";
import { digits } from "../../words/numbers";
import { ticks } from "../verdict/layers";
import type { Site } from "./ask";
import { barsOf, nameOf, type Bar } from "./sites";

const [width, row, left, right] = [900, 22, 220, 200];
const wide = width - left - right;

export function sitesDrawing(sites: Site[]): Drawing {
  const bars = barsOf(sites);
  const shapes = bars.flatMap((bar, i) => barShapes(bar, 18 + i * row));
  const under = 18 + bars.length * row;
  const scale = ticks().map((t): Shape => {
    const text = `1e${String(t.power).replace("-", "−")}`;
    return { kind: "text", x: left + t.share * wide, y: under, text, colour: token("ink-soft"), anchor: "middle" };
  });
  return { width, height: under + row, ground: token("sheet"), shapes: [...shapes, ...scale] };
}

function barShapes({ site, mean, tolerated, bad }: Bar, y: number): Shape[] {
  const ink = token("ink");
  const fill = token(bad ? "not-finite" : ["begins", "differs"].includes(site.verdict) ? "diverged" : "same");
  return [
    { kind: "text", x: left - 10, y, text: nameOf(site), colour: ink, anchor: "end" },
    { kind: "rect", x: left, y: y - 7, width: mean * wide, height: 14, fill },
    { kind: "rect", x: left + tolerated * wide, y: y - 9, width: 1, height: 18, fill: ink },
    { kind: "text", x: width - right + 10, y, text: `${digits(site.mean_error)}, ${site.verdict}`, colour: ink, anchor: "start" },
  ];
}
