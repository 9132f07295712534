// The timeline as a drawing, for a file.
import { csvOf } from "../../charts/csv";
import type { Drawing, Shape } from "../../charts/drawing";
import { token } from "../../charts/tokens";
import { count } from "../../words/numbers";
import { kindOf, reach, whatOf, type Lane } from "./lanes";

const [width, row, left, right] = [1200, 26, 130, 24];

export function lanesDrawing(lanes: Lane[]): Drawing {
  const span = reach(lanes);
  const x = (position: number) => left + ((position - span.from) / (span.to - span.from)) * (width - left - right);
  const soft = token("ink-soft");
  const shapes = lanes.flatMap((lane, i): Shape[] => {
    const y = 20 + i * row;
    return [
      { kind: "text", x: 10, y, text: `step ${String(lane.step)}, rank ${String(lane.rank)}`, colour: soft, anchor: "start" },
      { kind: "rect", x: left, y: y + row / 2, width: width - left - right, height: 1, fill: token("line") },
      ...lane.bad.map((bad): Shape => {
        const kind = kindOf(bad.verdict);
        const at = x(bad.position);
        if (bad.verdict === "passed on") return { kind: "rect", x: at, y: y - 6, width: 1, height: 12, fill: token("same") };
        return { kind: "text", x: at, y, text: kind.mark, colour: token(kind.colour), anchor: "middle" };
      }),
    ];
  });
  const y = 24 + lanes.length * row;
  const axis = [span.from, span.to].map((n, i): Shape => ({
    kind: "text",
    x: x(n),
    y,
    text: count(n),
    colour: soft,
    anchor: i === 0 ? "start" : "end",
  }));
  const title: Shape = { kind: "text", x: width / 2, y, text: "position in the order of execution", colour: soft, anchor: "middle" };
  return { width, height: y + row, ground: token("sheet"), shapes: [...shapes, ...axis, title] };
}

export function lanesCSV(lanes: Lane[]): string {
  const rows = lanes.flatMap((l) => l.bad.map((b) => [l.step, l.rank, b.position, b.op, b.module, b.role, b.path, b.verdict, whatOf(b)]));
  return csvOf(["step", "rank", "position", "op", "module", "role", "path", "verdict", "not_finite"], rows);
}
