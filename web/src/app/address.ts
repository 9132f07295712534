// Everything that a person chose is in the address: a link shows a colleague the same thing.

export const views = [
  "runs",
  "verdict",
  "diff",
  "structure",
  "heatmap",
  "overflow",
  "memory",
  "tensors",
  "tokens",
  "live",
  "trouble",
  "logs",
  "sql",
] as const;
export type View = (typeof views)[number];

// Choices that are texts, empty where nothing was chosen.
const texts = [
  "problem",
  "op", // under the cursor
  "find",
  "module",
  "dtype",
  "level", // least level of overflow, or of lines of logs, that is shown
  "graph", // module whose graph is shown
  "group", // label by which runs are grouped
  "query", // of the database
  "run", // of the chosen ones, in a view of one run; empty for the first
  "part", // of a view that has several
  "from", // time from which lines are shown, in nanoseconds
  "role", // of a tensor of the op, as input
  "path", // of that, which one
  "slice", // of a raw tensor
  "statistic", // that a heat-map, or a chart of log-probabilities, shows
  "by", // rows of a heat-map, or axis of memory
  "order", // of ranks
  "steps", // range of a heat-map, or the step whose raw tensors are listed
  "places", // range of a heat-map's ranks
  "site", // layer and place of the model whose tokens are shown
  "ranks", // whose memory is shown, or whose raw tensors are listed
] as const;
export type Text = (typeof texts)[number];

// Texts of which there may be several, and the names that the address has for each of them.
const lists = { benches: "bench", verdicts: "verdict", pairs: "pair" } as const;
const listed = Object.keys(lists) as (keyof typeof lists)[];

export interface Address extends Record<Text, string> {
  view: View;
  benches: string[];
  rank: number | null; // null for the first that differs
  step: number | null;
  verdicts: string[]; // that are shown; empty for all
  pairs: string[]; // nodes that are paired by hand
}

const noText = Object.fromEntries(texts.map((name) => [name, ""])) as Record<Text, string>;

export const nowhere: Address = { ...noText, view: "runs", benches: [], rank: null, step: null, verdicts: [], pairs: [] };

export function parseAddress(search: string): Address {
  const given = new URLSearchParams(search);
  const address: Address = {
    ...nowhere,
    view: views.find((v) => v === given.get("view")) ?? "runs",
    rank: ordinal(given.get("rank")),
    step: ordinal(given.get("step")),
  };
  for (const name of texts) address[name] = given.get(name) ?? "";
  for (const name of listed) address[name] = given.getAll(lists[name]);
  if (!/^\d{1,19}$/.test(address.from)) address.from = "";
  return address;
}

/** A number from 0 on, or null for any other text. */
export function ordinal(text: string | null): number | null {
  return text !== null && /^\d{1,10}$/.test(text) ? Number(text) : null;
}

/** Leaves out what is as it is anyway, so that links stay short. */
export function formatAddress(a: Address): string {
  const to = new URLSearchParams();
  const put = (name: string, ...values: (string | number | null)[]) => {
    for (const value of values) if (value !== null && value !== "") to.append(name, String(value));
  };
  put("view", a.view === "runs" ? "" : a.view);
  put("problem", a.problem);
  put("bench", ...a.benches);
  put("rank", a.rank);
  put("step", a.step);
  for (const name of texts) if (name !== "problem") put(name, a[name]);
  put("verdict", ...a.verdicts);
  put("pair", ...a.pairs);
  return `?${to.toString()}`;
}

/** The address of another view of the same runs: what was searched for in one view means nothing in the next. */
export function elsewhere(a: Address, view: View, changes: Partial<Address> = {}): Address {
  return { ...nowhere, problem: a.problem, benches: a.benches, rank: a.rank, step: a.step, view, ...changes };
}

/** The same with another run in the place of one. No run is held against itself. */
export function renamed(a: Address, from: string, to: string): Pick<Address, "problem" | "benches"> {
  const [problem = "", ...benches] = [a.problem, ...a.benches].map((run) => (run === from ? to : run));
  return { problem, benches: [...new Set(benches)].filter((b) => b !== "" && b !== problem) };
}
