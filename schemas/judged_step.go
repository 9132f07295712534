package schemas

// JudgedStep is the result of one step of one rank. It is published after the verdicts: these count once it is there.
func JudgedStep() Table {
	return Table{
		Name: "judged_step", Version: 1, Class: Measurement, Judged: true,
		Key: []string{"comparison_id", "step", "rank"},
		Doc: "One row per judging of a step of a rank: the number of pairs with each verdict, and the first difference.",
		Columns: append(judgement(
			Column{Name: "bench_rank", Type: Uint32, Unit: Ordinal, Doc: "Rank of the bench."},
			Column{Name: "bench_step", Type: Uint32, Unit: Ordinal, Doc: "Step of the bench."},
			Column{Name: "problem_epoch", Type: Uint64, Unit: Hash, Doc: "Epoch of the end of the problem's step; 0 where the problem has no such step, or it had not ended."},
			Column{Name: "bench_epoch", Type: Uint64, Unit: Hash, Doc: "Epoch of the end of the bench's step; 0 where the bench has no such step, or it had not ended."},
			Column{Name: "problem_row_count", Type: Uint64, Unit: Count, Doc: "Rows of tensor that were there of the problem's step."},
			Column{Name: "bench_row_count", Type: Uint64, Unit: Count, Doc: "Rows of tensor that were there of the bench's step."},
			Column{Name: "problem_program_id", Type: Uint64, Unit: Hash, Doc: "Program of the problem's step; 0 when not known."},
			Column{Name: "bench_program_id", Type: Uint64, Unit: Hash, Doc: "Program of the bench's step; 0 when not known."},
			Column{Name: "facts", Type: Uint64, Unit: Hash, Doc: "Hash of the programs, main dtypes and sources of both runs as they were known, on which the verdicts rest, too."},
		), append(judgedCounts(),
			Column{Name: "unknown_reasons", Type: Strings, Unit: None, Doc: "Reasons of the verdict unknown, each once, in order."},
			Column{Name: "greatest_error", Type: Float64, Unit: None, Nullable: true, Doc: "Greatest finite error of a pair; null when none is known."},
			Column{Name: "first_seq", Type: Uint64, Unit: Ordinal, Doc: "Place of the first difference; without one, this and all columns below are 0 or empty."},
			Column{Name: "first_micro_step", Type: Uint16, Unit: Ordinal, Doc: "Its micro step."},
			Column{Name: "first_site_id", Type: Uint64, Unit: Hash, Doc: "Its site, as in verdict."},
			Column{Name: "first_verdict", Type: String, Unit: None, Doc: "Its verdict."},
			Column{Name: "first_evidence", Type: String, Unit: None, Doc: "Its evidence."},
			Column{Name: "first_error", Type: Float64, Unit: None, Nullable: true, Doc: "Its error; null when not known."},
			Column{Name: "first_tolerance", Type: Float64, Unit: None, Nullable: true, Doc: "The tolerance there; null when numbers were not judged."},
			Column{Name: "first_side", Type: String, Unit: None, Doc: "Run that has NaN or infinity."},
			Column{Name: "first_reason", Type: String, Unit: None, Doc: "Reason, if its verdict is unknown."},
			Column{Name: "first_error_in", Type: Float64, Unit: None, Nullable: true, Doc: "Greatest error of the inputs of its op; null when none is known."},
			Column{Name: "first_error_out", Type: Float64, Unit: None, Nullable: true, Doc: "Greatest error of the outputs of its op; null when none is known."},
		)...),
	}
}

// judgedCounts are classes of rows, and parts of them. Each row of either run is in one class.
func judgedCounts() []Column {
	return []Column{
		{Name: "paired_count", Type: Uint64, Unit: Count, Doc: "Pairs with one of the six verdicts from equal to structure."},
		{Name: "only_problem_count", Type: Uint64, Unit: Count, Doc: "Tensors that only the problem has."},
		{Name: "only_bench_count", Type: Uint64, Unit: Count, Doc: "Tensors that only the bench has."},
		{Name: "only_problem_not_finite_count", Type: Uint64, Unit: Count, Doc: "Tensors without partner in the problem, be they unpaired or unknown, with NaN or infinity that is no known exception."},
		{Name: "only_bench_not_finite_count", Type: Uint64, Unit: Count, Doc: "Those without partner in the bench."},
		{Name: "unknown_count", Type: Uint64, Unit: Count, Doc: "Tensors and other arguments that could not be judged."},
		{Name: "alone_unknown_count", Type: Uint64, Unit: Count, Doc: "Those of unknown_count without partner."},
		{Name: "equal_count", Type: Uint64, Unit: Count, Doc: "Pairs with the verdict equal."},
		{Name: "within_count", Type: Uint64, Unit: Count, Doc: "Pairs with the verdict within."},
		{Name: "agrees_count", Type: Uint64, Unit: Count, Doc: "Pairs with the verdict agrees."},
		{Name: "diverged_count", Type: Uint64, Unit: Count, Doc: "Pairs with the verdict diverged."},
		{Name: "not_finite_count", Type: Uint64, Unit: Count, Doc: "Pairs with the verdict not_finite."},
		{Name: "structure_count", Type: Uint64, Unit: Count, Doc: "Pairs with the verdict structure."},
		{Name: "measured_count", Type: Uint64, Unit: Count, Doc: "Pairs with a verdict by numbers."},
		{Name: "proved_equal_count", Type: Uint64, Unit: Count, Doc: "Equal pairs that are no literals."},
		{Name: "argument_count", Type: Uint64, Unit: Count, Doc: "Arguments without numbers that differ in literal or type."},
		{Name: "same_not_finite_count", Type: Uint64, Unit: Count, Doc: "Pairs with NaN or infinity on both sides that make no difference."},
		{Name: "bits_differ_count", Type: Uint64, Unit: Count, Doc: "Pairs with different bits under the same statistics."},
		{Name: "uninitialised_count", Type: Uint64, Unit: Count, Doc: "Pairs of memory that nobody wrote to."},
		{Name: "differing_count", Type: Uint64, Unit: Count, Doc: "Those that make the runs differ."},
	}
}
