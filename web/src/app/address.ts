// Everything that a person chose is in the address: a link shows a colleague the same thing.

export const views = ["runs", "verdict", "diff", "structure", "heatmap", "overflow", "memory", "live", "sql"] as const;
export type View = (typeof views)[number];

/** What one view alone lets a person choose. */
const choices = ["statistic", "by", "order", "role", "steps", "places", "ranks", "counter"] as const;
export type Choices = Partial<Record<(typeof choices)[number], string>>;

export interface Address {
  view: View;
  problem: string;
  benches: string[];
  rank: number | null; // null for the first that differs
  step: number | null;
  op: string; // under the cursor
  find: string;
  verdicts: string[]; // that are shown; empty for all
  module: string;
  dtype: string;
  level: string; // of overflow: the least that is shown
  graph: string; // module whose graph is shown
  pairs: string[]; // nodes that are paired by hand
  group: string; // label by which runs are grouped
  query: string; // of the database
  choices: Choices;
}

export const nowhere: Address = {
  view: "runs",
  problem: "",
  benches: [],
  rank: null,
  step: null,
  op: "",
  find: "",
  verdicts: [],
  module: "",
  dtype: "",
  level: "",
  graph: "",
  pairs: [],
  group: "",
  query: "",
  choices: {},
};

export function parseAddress(search: string): Address {
  const given = new URLSearchParams(search);
  const text = (name: string) => given.get(name) ?? "";
  return {
    view: views.find((v) => v === given.get("view")) ?? "runs",
    problem: text("problem"),
    benches: given.getAll("bench"),
    rank: ordinal(given.get("rank")),
    step: ordinal(given.get("step")),
    op: text("op"),
    find: text("find"),
    verdicts: given.getAll("verdict"),
    module: text("module"),
    dtype: text("dtype"),
    level: text("level"),
    graph: text("graph"),
    pairs: given.getAll("pair"),
    group: text("group"),
    query: text("query"),
    choices: Object.fromEntries(choices.filter((c) => given.has(c)).map((c) => [c, text(c)])),
  };
}

function ordinal(text: string | null): number | null {
  return text !== null && /^\d{1,10}$/.test(text) ? Number(text) : null;
}

/** Leaves out what is as it is anyway, so that links stay short. */
export function formatAddress(a: Address): string {
  const to = new URLSearchParams();
  const put = (name: string, ...values: (string | number | null | undefined)[]) => {
    for (const value of values) if (value != null && value !== "") to.append(name, String(value));
  };
  put("view", a.view === "runs" ? "" : a.view);
  put("problem", a.problem);
  put("bench", ...a.benches);
  for (const name of ["rank", "step", "op", "find"] as const) put(name, a[name]);
  put("verdict", ...a.verdicts);
  for (const name of ["module", "dtype", "level", "graph", "group", "query"] as const) put(name, a[name]);
  put("pair", ...a.pairs);
  for (const name of choices) put(name, a.choices[name]);
  return `?${to.toString()}`;
}

/** The address of another view of the same runs: what was searched for in one view means nothing in the next. */
export function elsewhere(a: Address, view: View, changes: Partial<Address> = {}): Address {
  return { ...nowhere, problem: a.problem, benches: a.benches, rank: a.rank, step: a.step, view, ...changes };
}
