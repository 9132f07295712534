// Where to look next: at most three places, the most telling first.
import type { Comparison } from "../../api/answers";
import type { Address, View } from "../../app/address";
import { digits, plural } from "../../words/numbers";

export interface NextPlace {
  title: string;
  why: string;
  view: View;
  changes: Partial<Address>;
}

export function nextPlaces(c: Comparison): NextPlace[] {
  const all = [...origins(c), ...jumps(c), ...notFinite(c), ...alone(c), ...tokens(c), ...unjudged(c)];
  return all.slice(0, 3);
}

function origins(c: Comparison): NextPlace[] {
  return c.origins.slice(0, 2).map((o, i) => ({
    title: o.op,
    why:
      i === 0 ? "where it began, among the ops around it" : `nothing precedes it, either: step ${String(o.step)}, rank ${String(o.rank)}`,
    view: "diff",
    changes: { rank: o.rank, step: o.step, op: o.op },
  }));
}

function jumps(c: Comparison): NextPlace[] {
  return c.jumps.slice(0, 1).map((j) => ({
    title: j.op,
    why: `the error jumps from ${digits(j.noise_before)} to ${digits(j.error)}: what differs before may be noise`,
    view: "diff",
    changes: { rank: j.rank, step: j.step, op: j.op },
  }));
}

function notFinite(c: Comparison): NextPlace[] {
  const bad = (c.counts["not_finite"] ?? 0) + (c.counts["same_not_finite"] ?? 0);
  if (bad === 0) return [];
  return [
    {
      title: "NaN and infinity",
      why: `${plural(bad, "tensor")} of both runs are not finite: where that began in the problem`,
      view: "overflow",
      changes: {},
    },
  ];
}

function alone(c: Comparison): NextPlace[] {
  const n = (c.counts["only_problem"] ?? 0) + (c.counts["only_bench"] ?? 0);
  const first = c.unpaired[0];
  if (n === 0 || first === undefined) return [];
  const changes = { rank: first.rank, step: first.step, op: first.op, verdicts: ["only_problem", "only_bench", "unpaired"] };
  return [
    { title: "Ops of one run only", why: `${plural(n, "tensor")} without a partner, the first at ${first.op}`, view: "diff", changes },
  ];
}

/** Of tokens the comparison says nothing: they pair otherwise. */
function tokens(c: Comparison): NextPlace[] {
  if (!c.tokens?.places && !c.tokens?.told) return [];
  const what = c.tokens.places ? "tokens, which pair" : "log-probabilities of tokens, which pair";
  return [{ title: "Token by token", why: `both runs have ${what} by prompt, sample and position`, view: "tokens", changes: {} }];
}

/** Of runs that differ nowhere, the ops are still there to be read. */
function unjudged(c: Comparison): NextPlace[] {
  const place = c.summary.find((s) => s.differing_count > 0) ?? c.summary[0];
  if (place === undefined) return [];
  return [
    {
      title: "All ops, side by side",
      why: `step ${String(place.step)}, rank ${String(place.rank)}`,
      view: "diff",
      changes: { rank: place.rank, step: place.step },
    },
  ];
}
