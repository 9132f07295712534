package schemas

// Step is one step of one rank, with the rank's own counts of its rows.
func Step() Table {
	return Table{
		Name: "step", Version: 1, Class: Measurement,
		Key: []string{"run_id", "rank", "step"},
		Doc: "One row per step of a rank: when, which program, and how much was produced and dropped.",
		Columns: measurement(
			Column{Name: "step", Type: Uint32, Unit: Ordinal, Doc: "Step of the rank."},
			Column{Name: "generation", Type: Uint32, Unit: Ordinal, Doc: "Number of times that other content replaced this step of this rank; views keep the greatest."},
			Column{Name: "begin_time_ns", Type: Int64, Unit: Nanoseconds, Nullable: true, Doc: "Begin by the rank's clock; null when the source does not say."},
			Column{Name: "end_time_ns", Type: Int64, Unit: Nanoseconds, Nullable: true, Doc: "End by the rank's clock; null when the step never ended or the source does not say."},
			Column{Name: "program_id", Type: Uint64, Unit: Hash, Doc: "The ordered ops of the step (program); 0 when the step never named them."},
			Column{Name: "phase", Type: String, Unit: None, Doc: "train, evaluate, prefill, decode and so on; empty when not known."},
			Column{Name: "op_count", Type: Uint64, Unit: Count, Doc: "Ops that the rank observed and published."},
			Column{Name: "tensor_count", Type: Uint64, Unit: Count, Doc: "Rows of tensor that the rank published for this step."},
			Column{Name: "dropped_count", Type: Uint64, Unit: Count, Doc: "Ops or rows that were lost before publishing."},
			Column{Name: "drop_reason", Type: String, Unit: None, Doc: "Why they were lost; empty when none were."},
			Column{Name: "request_count", Type: Uint32, Unit: Count, Nullable: true, Doc: "Requests in the step; null outside of inference."},
			Column{Name: "token_count", Type: Uint64, Unit: Count, Nullable: true, Doc: "Tokens in the step; null when not known."},
			Column{Name: "complete", Type: Uint8, Unit: None, Doc: "1 when the source was read to its end, 0 when the step was cut short."},
			Column{Name: "global_step", Type: Uint64, Unit: Ordinal, Nullable: true, Doc: "Optimizer steps that the trainer itself has counted before this one; null when no trainer says."},
		),
	}
}
