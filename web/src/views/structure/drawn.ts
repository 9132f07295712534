// A graph as Svelte Flow draws it.
import type { Edge, Node as Drawn } from "@xyflow/svelte";
import type { Graph } from "./flow";
import type { Placed } from "./layout";

export function drawnBoxes(graph: Graph, places: Map<string, Placed>, chosen: number, alone: boolean): Drawn[] {
  return graph.boxes.map(({ id, node }) => ({
    id,
    type: "box",
    position: { x: places.get(id)?.x ?? 0, y: places.get(id)?.y ?? 0 },
    data: { node, name: node?.name ?? "", chosen: node?.id === chosen, alone },
    ariaLabel: node?.path ?? id,
  }));
}

/** A line of one run alone is dashed and says so; one from what differs has its colour. */
export function drawnEdges(graph: Graph, alone: boolean): Edge[] {
  const from = new Map(graph.boxes.map((b) => [b.id, b.node]));
  return graph.edges.map((e) => {
    const single = !alone && e.sides.length === 1;
    const colour = (from.get(e.from)?.differing ?? 0) > 0 ? "--diverged" : "--ink-soft";
    const words = single ? [e.sides[0] === "problem" ? "only here" : "only there"] : [];
    const tensors = e.tensors.length > 1 ? [`${String(e.tensors.length)} tensors`] : e.tensors.map((t) => t.replace(/^torch\./, ""));
    return {
      id: `${e.from} ${e.to}`,
      source: e.from,
      target: e.to,
      label: [...words, ...tensors].join(" "),
      style: `stroke: var(${colour}); stroke-width: 1.5px;${single ? " stroke-dasharray: 6 4;" : ""}`,
      selectable: false,
      focusable: false,
    };
  });
}
