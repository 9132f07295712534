// Places of the model, in words and as bars.
import { numberOf, plural } from "../../words/numbers";
import { shareOf } from "../verdict/layers";
import type { Positions, Site } from "./ask";

/** A place as the address has it. */
export function keyOf(s: Site): string {
  return `${String(s.layer)} ${s.site}`;
}

export function nameOf(s: Site): string {
  return `layer ${String(s.layer)}, ${s.site}`;
}

/** The place of the address, if it is one; else where tokens begin to differ, or where one is the furthest apart. */
export function chosenSite(sites: Site[], key: string): Site | undefined {
  const error = (s: Site) => (s.paired_count > 0 ? (numberOf(s.max_error) ?? 0) : -1);
  const furthest = [...sites].sort((a, b) => error(b) - error(a))[0];
  return sites.find((s) => keyOf(s) === key) ?? sites.find((s) => s.verdict === "begins") ?? furthest;
}

export type Told = "differs" | "same" | "unknown";

/** Says whether any token differs, by the verdicts of the report. */
export function verdictOf(sites: Site[], gaps: string[]): Told {
  if (sites.some((s) => s.verdict === "begins")) return "differs";
  return sites.every((s) => s.paired_count === 0) || gaps.length > 0 ? "unknown" : "same";
}

export function sentenceOf(sites: Site[], gaps: string[]): string {
  const paired = Math.max(0, ...sites.map((s) => s.paired_count));
  const begins = sites.find((s) => s.verdict === "begins");
  if (begins !== undefined) return `Tokens begin to differ at ${nameOf(begins)}: ${whichBegin(begins)}.`;
  if (paired === 0)
    return "No token of both runs has the same prompt, sample, position and place: record both with --level tokens, of the same prompts.";
  if (gaps.length > 0) return "No token differs in what is there, but not all is there.";
  return `No token differs: ${plural(paired, "token")} pair by prompt, sample and position, at up to ${plural(sites.length, "place")}.`;
}

function whichBegin(s: Site): string {
  if (s.first_position === null) return "no token by itself, but all of them on average";
  const first = `position ${String(s.first_position)} of prompt ${s.first_prompt}, sample ${String(s.first_sample)}`;
  return `${String(s.began_count)} of ${plural(s.paired_count, "token")}, first at ${first}`;
}

export interface Bar {
  site: Site;
  opens: boolean; // is the first of its layer
  mean: number; // shares of the scale, 0 to 1
  most: number;
  tolerated: number;
  bad: boolean; // not finite
}

export function barsOf(sites: Site[]): Bar[] {
  return sites.map((site, i) => {
    const most = numberOf(site.max_error);
    const bad = most !== null && !Number.isFinite(most);
    return {
      site,
      opens: site.layer !== sites[i - 1]?.layer,
      mean: shareOf(numberOf(site.mean_error)),
      most: bad ? 1 : shareOf(most),
      tolerated: shareOf(numberOf(site.tolerance)),
      bad,
    };
  });
}

/** The worst token of each range of positions, the worst of all first. */
export function worstOf(ranges: Positions[], most: number): Positions[] {
  const error = (p: Positions) => numberOf(p.max_error) ?? 0;
  return [...ranges]
    .filter((p) => error(p) > 0)
    .sort((a, b) => (error(a) === error(b) ? a.first_position - b.first_position : error(b) - error(a)))
    .slice(0, most);
}
