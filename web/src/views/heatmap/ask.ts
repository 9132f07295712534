// The questions of this view. The database adds up what it has to as many cells as the picture has.
import type { Table } from "apache-arrow";
import { askArrow } from "../../api/arrow";
import type { Rows } from "../../api/answers";
import { askJSON, type Parameters } from "../../api/client";
import { count } from "../../words/numbers";
import { Picture, type Cells, type Row } from "./picture";
import type { Chosen } from "./what";

export interface Asked {
  problem: string;
  benches: string[];
  run: string; // of the two, for what is of one run
  chosen: Chosen;
  size: { width: number; height: number }; // cells at most
}

export async function askPicture(asked: Asked, signal: AbortSignal): Promise<Picture> {
  // Whether all of a long run is stored takes longer to know than the picture: askGaps.
  const { value } = await askArrow(`reports/${reportOf(asked.chosen)}`, { ...parametersOf(asked), unchecked: "true" }, signal);
  return new Picture(cellsOf(value));
}

const mostGaps = 20;

export async function askGaps(runs: string[], signal: AbortSignal): Promise<string[]> {
  const all = (await Promise.all(runs.map((run) => gapsOfRun(run, signal)))).flat();
  return all.length > mostGaps ? [...all.slice(0, mostGaps), `and ${count(all.length - mostGaps)} more`] : all;
}

interface RankStored {
  rank: number;
  complete: number;
  explanation: string;
}

/** Unchecked, since else the program asks the same report once more for what it says of gaps. */
async function gapsOfRun(run: string, signal: AbortSignal): Promise<string[]> {
  const parameters = { run, columns: "rank,complete,explanation", unchecked: "true" };
  const { rows } = (await askJSON<Rows<RankStored>>("reports/completeness", parameters, signal)).value;
  return rows.filter((r) => r.complete !== 1).map((r) => `run ${run} rank ${String(r.rank)}: ${r.explanation}`);
}

function reportOf({ statistic, by }: Chosen): string {
  if (statistic.name === "error") return by === "rank" ? "heatmap_rank_errors" : "heatmap_layer_errors";
  return by === "rank" ? "heatmap_ranks" : "heatmap_layers";
}

function parametersOf({ problem, benches, run, chosen, size }: Asked): Parameters {
  const { statistic, by, order, role, steps, places } = chosen;
  const [bench = "", ...more] = benches;
  return {
    ...(statistic.name === "error" ? { problem, bench, benches: more } : { run, statistic: statistic.name, role }),
    ...(by === "rank" ? { order, height: size.height, first_place: places?.from ?? null, last_place: places?.to ?? null } : {}),
    width: size.width,
    first_step: steps?.from ?? null,
    last_step: steps?.to ?? null,
  };
}

/** Columns as they came, without an object for each cell. */
export function cellsOf(table: Table): Cells {
  const byRank = table.getChild("place") !== null;
  const numbers = (name: string) => (table.getChild(name)?.toArray() ?? []) as ArrayLike<number>;
  const [keys, ranks] = [numbers(byRank ? "place" : "layer_index"), numbers("rank")];
  const counts = numbers("rank_count");
  const layers = table.getChild("layer");
  const rankRow = (i: number): Row => {
    const [rank, count] = [Number(ranks[i] ?? 0), Number(counts[i] ?? 1)];
    return {
      label: count > 1 ? `rank ${String(rank)} +${String(count - 1)}` : `rank ${String(rank)}`,
      place: Number(keys[i]),
      rank,
      count,
      layer: "",
    };
  };
  const layerRow = (i: number): Row => {
    const layer = String(layers?.get(i) ?? "");
    return { label: layer || "outside of layers", place: Number(keys[i]), rank: null, count: 1, layer };
  };
  return {
    length: table.numRows,
    keys,
    steps: numbers("step"),
    values: known(table),
    bad: numbers(table.getChild("not_finite_row_count") === null ? "not_finite_count" : "not_finite_row_count"),
    count: Number(numbers("step_count")[0] ?? 1),
    rowOf: byRank ? rankRow : layerRow,
  };
}

/** Null and NaN are both no colour; which it is, what is not finite beside it says. */
function known(table: Table): ArrayLike<number> {
  const column = table.getChild("value");
  if (column === null) return [];
  const values = column.toArray() as Float64Array;
  if (column.nullCount === 0) return values;
  return Float64Array.from(values, (v, i) => (column.isValid(i) ? v : NaN));
}
