// The questions of this view, and what their answers have.
import type { Rows } from "../../api/answers";
import { askJSON, type Answer } from "../../api/client";
import type { Answered } from "../../words/numbers";

export interface Site {
  layer: number;
  site: string;
  verdict: string; // begins, differs, same, follows, or nothing pairs
  paired_count: number;
  alone_count: number;
  mean_error: Answered;
  max_error: Answered;
  beyond_count: number;
  began_count: number;
  first_position: number | null;
  first_prompt: string;
  first_sample: number | null;
  position_growth: Answered;
  batch_growth: Answered;
  rank_growth: Answered;
  tolerance: Answered;
}

export interface Positions {
  first_position: number;
  last_position: number;
  paired_count: number;
  mean_error: Answered;
  max_error: Answered;
  worst_position: number;
  worst_prompt: string;
  worst_sample: number;
}

export interface TrainingStep {
  step: number;
  verdict: string; // drifts, flat, or nothing pairs
  paired_count: number;
  mean_difference: Answered;
  p99_difference: Answered;
  kl_k1: Answered;
  kl_k3: Answered;
  beyond_clip: Answered;
  cause: string;
  place: string;
  evidence: string;
  also: string;
  tolerance: Answered;
}

export interface Sides {
  problem: string;
  bench: string;
}

export function askSites(sides: Sides, signal: AbortSignal): Promise<Answer<Rows<Site>>> {
  return askJSON("reports/tokens", { ...sides }, signal);
}

export function askSteps(sides: Sides, signal: AbortSignal): Promise<Answer<Rows<TrainingStep>>> {
  return askJSON("reports/logprobs", { ...sides, unchecked: "true" }, signal);
}

export function askPositions(sides: Sides, at: Site, signal: AbortSignal): Promise<Answer<Rows<Positions>>> {
  return askJSON("reports/token_positions", { ...sides, layer: at.layer, site: at.site, unchecked: "true" }, signal);
}
