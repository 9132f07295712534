// Nodes that a person pairs by hand, as lines of a mapping file: docs/mapping.md.

export interface Pair {
  kind: "modules" | "ops";
  problem: string;
  bench: string;
}

/** Pairs stand in the address as JSON: names hold any sign. */
export function readPairs(texts: string[]): Pair[] {
  return texts.flatMap((text) => {
    try {
      const [kind, problem, bench] = JSON.parse(text) as unknown[];
      const known = (kind === "modules" || kind === "ops") && typeof problem === "string" && typeof bench === "string";
      return known ? [{ kind, problem, bench }] : [];
    } catch {
      return []; // a link that somebody cut short
    }
  });
}

export function writePair(p: Pair): string {
  return JSON.stringify([p.kind, p.problem, p.bench]);
}

/** The same pair for every layer, where both names have the same number in one place; else null. */
export function forAllLayers(p: Pair): Pair | null {
  const [numbered, other] = [p.problem.split("."), p.bench.split(".")];
  const at = numbered.findIndex((part) => /^\d+$/.test(part) && other.includes(part));
  if (p.kind !== "modules" || at < 0) return null;
  const number = numbered[at] ?? "";
  numbered[at] = "<n>";
  other[other.indexOf(number)] = "<n>";
  return { kind: p.kind, problem: numbered.join("."), bench: other.join(".") };
}

/** Why a pair cannot be a line of a mapping file; empty where it can. */
export function refused(p: Pair): string {
  const pattern = [p.problem, p.bench].find((name) => /[<>[\]]/.test(name.replaceAll("<n>", "")));
  if (pattern !== undefined) return `${pattern} holds < or [, which mean something else in a mapping file: write the line by hand`;
  return p.problem === "" || p.bench === "" ? "choose a node of each run" : "";
}

export function mappingFile(pairs: Pair[]): string {
  return (["modules", "ops"] as const)
    .map((kind) => ({ kind, lines: pairs.filter((p) => p.kind === kind).map((p) => `  ${quoted(p.problem)}: ${quoted(p.bench)}\n`) }))
    .filter(({ lines }) => lines.length > 0)
    .map(({ kind, lines }) => `${kind}:\n${lines.join("")}`)
    .join("");
}

/** YAML reads plain names as they are; JSON's strings are YAML's, too. */
function quoted(name: string): string {
  return /^[A-Za-z_][\w.<>]*$/.test(name) ? name : JSON.stringify(name);
}
