// A graph as Svelte Flow draws it.
import type { Edge as DrawnEdge, Node as DrawnBox } from "@xyflow/svelte";
import type { Edge, Graph } from "./flow";
import { nameOf, type Laid } from "./layout";

export function drawnBoxes(graph: Graph, laid: Laid, chosen: number, alone: boolean): DrawnBox[] {
  return graph.boxes.map(({ id, node }) => ({
    id,
    type: "box",
    position: laid.boxes.get(id) ?? { x: 0, y: 0 },
    data: { node, chosen: node?.id === chosen, alone },
    ariaLabel: node?.path ?? id,
  }));
}

/** A line of one run alone is dashed and says so; one from what differs has its colour. */
export function drawnEdges(graph: Graph, laid: Laid, alone: boolean): DrawnEdge[] {
  const from = new Map(graph.boxes.map((b) => [b.id, b.node]));
  return graph.edges.map((e) => {
    const colour = (from.get(e.from)?.differing ?? 0) > 0 ? "--diverged" : "--ink-soft";
    return {
      id: nameOf(e),
      type: "route",
      source: e.from,
      target: e.to,
      label: wordsOf(e, alone),
      data: { ...laid.routes.get(nameOf(e)) },
      style: `stroke: var(${colour}); stroke-width: 1.5px;${isSingle(e, alone) ? " stroke-dasharray: 6 4;" : ""}`,
      selectable: false,
      focusable: false,
    };
  });
}

function isSingle(e: Edge, alone: boolean): boolean {
  return !alone && e.sides.length === 1;
}

export function wordsOf(e: Edge, alone: boolean): string {
  const side = isSingle(e, alone) ? [e.sides[0] === "problem" ? "only here" : "only there"] : [];
  const tensors = e.tensors.length > 1 ? [`${String(e.tensors.length)} tensors`] : e.tensors.map((t) => t.replace(/^torch\./, ""));
  return [...side, ...tensors].join(" ");
}
