// The answers of the program, field by field as it documents them (api/v1/openapi.json, docs/compare.md).
import type { Answered } from "../words/numbers";

export interface Rows<T> {
  rows: T[];
}

export interface RunOverview {
  run: string;
  status: string;
  source: string;
  level: string;
  model: string;
  framework: string;
  dtype: string;
  world_size: number | null;
  rank_count: number;
  step_count: number;
  last_event_time_ns: number;
  complete: number;
  incomplete_rank_count: number;
  explanation: string;
  dropped_count: number;
  bench: string;
  verdict: string;
  first_step: number | null;
  first_rank: number | null;
  first_op: string;
  differing_count: number;
  labels: Record<string, string>;
}

/** A tensor or other argument that differs. */
export interface Difference {
  rank: number;
  step: number;
  op: string;
  module: string;
  role: string;
  path: string;
  verdict: string;
  evidence: string;
  error: Answered;
  tolerance: Answered;
  reason: string;
  structure?: string;
  not_finite_side?: string;
  side?: string;
  problem_dtype: string;
  bench_dtype: string;
  problem_shape: number[] | string;
  bench_shape: number[] | string;
  problem_literal: string;
  bench_literal: string;
  problem_min: Answered;
  bench_min: Answered;
  problem_max: Answered;
  bench_max: Answered;
  problem_mean: Answered;
  bench_mean: Answered;
  problem_l2: Answered;
  bench_l2: Answered;
  user_frame: string;
}

export interface Origin extends Difference {
  kind: string;
  parameter: string;
  operation: string;
  at_or_before: boolean;
  unseen: string;
}

export interface Layer {
  step: number;
  direction: string;
  layer_index: number;
  layer: string;
  paired_count: number;
  differing_count: number;
  not_finite_count: number;
  greatest_error: Answered;
}

export interface Jump {
  rank: number;
  step: number;
  op: string;
  error: Answered;
  noise_before: Answered;
}

export interface Place {
  rank: number;
  step: number;
  differing_count: number;
}

export interface Alone {
  rank: number;
  step: number;
  side: string;
  op: string;
  module: string;
  reason: string;
}

/** A property that differs: property, problem, bench, effect. */
export type RunDifference = Record<string, unknown>;

export interface Comparison {
  verdict: "same" | "differs" | "unknown";
  problem: string;
  bench: string;
  benches: string[];
  tolerance: string;
  counts: Record<string, number>;
  incomplete: string;
  unknown_because: string;
  origins: Origin[];
  divergence: Difference[];
  unpaired: Alone[];
  layers: Layer[];
  jumps: Jump[];
  summary: Place[];
  run_differences: RunDifference[];
  observed: string;
  hidden?: { problem: HiddenPart[]; bench: HiddenPart[] }; // what no hook saw; not in files of earlier versions
  tokens?: { places: boolean; told: boolean }; // that both runs have; not in files of earlier versions
  failures: { run: string; rank: number; step: number; op: string; type: string; message: string }[];
  next: string[];
}

export interface HiddenPart {
  reason: string;
  subject: string;
  step_count: number;
  recorded_step_count: number;
}

export interface Explained extends Difference {
  bench_op: string;
  paired_by: string;
  error_low: Answered;
  error_high: Answered;
  differs: number;
  problem_kind: string;
  bench_kind: string;
  problem_present: boolean;
  bench_present: boolean;
  problem_not_finite_count: number;
  bench_not_finite_count: number;
}

export interface Explanation {
  op: string;
  rank: number;
  step: number;
  incomplete: string[];
  tensors: Explained[];
  place: { module: string; parent: string; user_frame: string; frames: string[] }[];
  before: { op: string; module: string; error_in: Answered; error_out: Answered; differing_count: number }[];
  elsewhere: { rank: number; step: number; differing_count: number; greatest_error: Answered }[];
}
