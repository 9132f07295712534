// Where the boxes and lines of a graph go. The library lays them out in a worker, so the page goes on meanwhile.
import ELK, { type ElkExtendedEdge, type ElkNode, type ElkPoint } from "elkjs/lib/elk-api.js";
import worker from "elkjs/lib/elk-worker.min.js?url";
import type { Edge, Graph } from "./flow";

export interface Route {
  path: string; // as SVG has it
  labelX: number; // the middle of its label
  labelY: number;
}

export interface Laid {
  boxes: Map<string, ElkPoint>;
  routes: Map<string, Route>;
}

export const box = { width: 226, height: 42 };
const label = { letter: 5.6, height: 16 }; // pixels

let elk: InstanceType<typeof ELK> | undefined;

export async function laidOut(graph: Graph, words: (e: Edge) => string): Promise<Laid> {
  elk ??= new ELK({ workerUrl: worker });
  const laid = await elk.layout(asked(graph, words));
  return {
    boxes: new Map((laid.children ?? []).map(({ id, x = 0, y = 0 }) => [id, { x, y }])),
    routes: new Map((laid.edges ?? []).map((e) => [e.id, routeOf(e)])),
  };
}

export function nameOf(e: Edge): string {
  return `${e.from} ${e.to}`;
}

function asked(graph: Graph, words: (e: Edge) => string): ElkNode {
  return {
    id: "all",
    layoutOptions: {
      "elk.algorithm": "layered",
      "elk.direction": "DOWN",
      "elk.edgeLabels.inline": "true",
      "elk.layered.considerModelOrder.strategy": "NODES_AND_EDGES",
      "elk.layered.spacing.nodeNodeBetweenLayers": "14",
      "elk.spacing.nodeNode": "18",
    },
    children: graph.boxes.map(({ id }) => ({ id, ...box })),
    edges: graph.edges.map((e) => ({ id: nameOf(e), sources: [e.from], targets: [e.to], labels: [labelOf(words(e))] })),
  };
}

function labelOf(text: string): { text: string; width: number; height: number } {
  return { text, width: text.length * label.letter, height: label.height };
}

function routeOf(e: ElkExtendedEdge): Route {
  const points = (e.sections ?? []).flatMap((s) => [s.startPoint, ...(s.bendPoints ?? []), s.endPoint]);
  const [told] = e.labels ?? [];
  return {
    path: points.map(({ x, y }, i) => `${i === 0 ? "M" : "L"} ${String(x)} ${String(y)}`).join(" "),
    labelX: (told?.x ?? 0) + (told?.width ?? 0) / 2,
    labelY: (told?.y ?? 0) + (told?.height ?? 0) / 2,
  };
}
