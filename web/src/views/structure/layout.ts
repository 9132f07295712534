// Where the boxes of a graph stand. The library lays them out in a worker, so the page goes on meanwhile.
import ELK, { type ElkNode } from "elkjs/lib/elk-api.js";
import worker from "elkjs/lib/elk-worker.min.js?url";
import type { Graph } from "./flow";

export interface Placed {
  id: string;
  x: number;
  y: number;
}

export const box = { width: 200, height: 42 };

let elk: InstanceType<typeof ELK> | undefined;

export async function placesOf(graph: Graph): Promise<Map<string, Placed>> {
  elk ??= new ELK({ workerUrl: worker });
  const asked: ElkNode = {
    id: "all",
    layoutOptions: {
      "elk.algorithm": "layered",
      "elk.direction": "DOWN",
      "elk.layered.spacing.nodeNodeBetweenLayers": "34",
      "elk.spacing.nodeNode": "18",
      "elk.layered.considerModelOrder.strategy": "NODES_AND_EDGES",
    },
    children: graph.boxes.map(({ id }) => ({ id, ...box })),
    edges: graph.edges.map(({ from, to }) => ({ id: `${from} ${to}`, sources: [from], targets: [to] })),
  };
  const laid = await elk.layout(asked);
  return new Map((laid.children ?? []).map(({ id, x = 0, y = 0 }) => [id, { id, x, y }]));
}
