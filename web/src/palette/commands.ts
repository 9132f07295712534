// What the palette offers, and how it is found.
import type { Address, View } from "../app/address";
import { keyOf, titles } from "../app/keys";

export interface Command {
  title: string;
  hint: string;
  run: () => void;
}

/** What a command can do to the page. */
export interface Doing {
  go: (view: View, changes?: Partial<Address>) => void;
  refine: (changes: Partial<Address>) => void;
  turnTheme: () => void;
}

export function commandsOf(here: Address, runs: string[], doing: Doing): Command[] {
  const views = (Object.entries(titles) as [View, string][]).map(([view, title]) => ({
    title: `Go to ${title}`,
    hint: `key ${keyOf(view)}`,
    run: () => {
      doing.go(view);
    },
  }));
  return [...views, ...general(here, doing), ...keys(), ...runs.flatMap((run) => sides(here, run, doing))];
}

function general(here: Address, doing: Doing): Command[] {
  const list: Command[] = [{ title: "Switch between light and dark", hint: "", run: doing.turnTheme }];
  const [bench] = here.benches;
  if (here.problem && bench !== undefined) {
    list.push({
      title: "Swap problem and bench",
      hint: "",
      run: () => {
        doing.refine({ problem: bench, benches: [here.problem], rank: null, step: null, op: "" });
      },
    });
  }
  return list;
}

/** Keys that no command stands for; chosen, they do nothing. */
function keys(): Command[] {
  const nothing = () => undefined;
  return [
    { title: "Diff: next and previous op that differs", hint: "n, p", run: nothing },
    { title: "Diff: search", hint: "/", run: nothing },
    { title: "Lists: move the cursor", hint: "↑ ↓ j k", run: nothing },
    { title: "Structure: open and close", hint: "→ ← Enter", run: nothing },
    { title: "Heat-map: mark a part and zoom in, zoom out", hint: "Shift ↑ ↓ ← →, Enter, Escape", run: nothing },
    { title: "Heat-map: next and previous cell that is not finite", hint: "n, p", run: nothing },
    { title: "SQL: run the query", hint: "Ctrl Enter", run: nothing },
  ];
}

function sides(here: Address, run: string, doing: Doing): Command[] {
  const list: Command[] = [];
  if (here.problem !== run)
    list.push({
      title: `Problem: ${run}`,
      hint: "run",
      run: () => {
        doing.refine({ problem: run, rank: null, step: null, op: "" });
      },
    });
  if (!here.benches.includes(run))
    list.push({
      title: `Bench: ${run}`,
      hint: "run",
      run: () => {
        doing.refine({ benches: [run], rank: null, step: null, op: "" });
      },
    });
  return list;
}

const most = 50;

/** Commands that have every word, those whose title begins so first. */
export function found(commands: Command[], typed: string): Command[] {
  const words = typed.toLowerCase().split(/\s+/).filter(Boolean);
  const all = commands.filter((c) => words.every((w) => c.title.toLowerCase().includes(w)));
  const begins = (c: Command) => (c.title.toLowerCase().startsWith(typed.toLowerCase().trim()) ? 0 : 1);
  return all.sort((a, b) => begins(a) - begins(b)).slice(0, most);
}
