package schemas

// JudgedStep is what came of one step of one rank. It is published after the verdicts, so that these count once it is there.
func JudgedStep() Table {
	return Table{
		Name: "judged_step", Version: 1, Class: Measurement, Judged: true,
		Key: []string{"comparison_id", "step", "rank"},
		Doc: "One row per judging of a step of a rank: how many pairs came to which verdict, and what differs first.",
		Columns: append(judgement(
			Column{Name: "bench_rank", Type: Uint32, Unit: Ordinal, Doc: "Rank of the bench."},
			Column{Name: "bench_step", Type: Uint32, Unit: Ordinal, Doc: "Step of the bench."},
			Column{Name: "problem_epoch", Type: Uint64, Unit: Hash, Doc: "Epoch of the end of the problem's step; 0 where the problem has no such step, or it had not ended."},
			Column{Name: "bench_epoch", Type: Uint64, Unit: Hash, Doc: "Likewise of the bench."},
			Column{Name: "problem_row_count", Type: Uint64, Unit: Count, Doc: "Rows of tensor that were there of the problem's step."},
			Column{Name: "bench_row_count", Type: Uint64, Unit: Count, Doc: "Likewise of the bench's."},
			Column{Name: "problem_program_id", Type: Uint64, Unit: Hash, Doc: "Program of the problem's step; 0 when not known."},
			Column{Name: "bench_program_id", Type: Uint64, Unit: Hash, Doc: "Program of the bench's step; 0 when not known."},
		), append(judgedCounts(),
			Column{Name: "unknown_reasons", Type: Strings, Unit: None, Doc: "Why nothing can be said, each reason once, in order."},
			Column{Name: "greatest_error", Type: Float64, Unit: None, Nullable: true, Doc: "Greatest finite error of a pair; null when none is known."},
			Column{Name: "first_seq", Type: Uint64, Unit: Ordinal, Doc: "Place of what differs first; 0, as all below is empty, when nothing does."},
			Column{Name: "first_micro_step", Type: Uint16, Unit: Ordinal, Doc: "Its micro step."},
			Column{Name: "first_site_id", Type: Uint64, Unit: Hash, Doc: "Its site, as in verdict."},
			Column{Name: "first_verdict", Type: String, Unit: None, Doc: "Its verdict."},
			Column{Name: "first_evidence", Type: String, Unit: None, Doc: "What that rests on."},
			Column{Name: "first_error", Type: Float64, Unit: None, Nullable: true, Doc: "Its error; null when not known."},
			Column{Name: "first_tolerance", Type: Float64, Unit: None, Nullable: true, Doc: "The tolerance there; null when numbers were not judged."},
			Column{Name: "first_side", Type: String, Unit: None, Doc: "In which run NaN or infinity is."},
			Column{Name: "first_reason", Type: String, Unit: None, Doc: "Why nothing is said of it."},
			Column{Name: "first_error_in", Type: Float64, Unit: None, Nullable: true, Doc: "Greatest error of what its op took; null when none is known."},
			Column{Name: "first_error_out", Type: Float64, Unit: None, Nullable: true, Doc: "Greatest error of what its op gave; null when none is known."},
		)...),
	}
}

// judgedCounts are the classes that each row of either run is in one of, and parts of them.
func judgedCounts() []Column {
	return []Column{
		{Name: "paired_count", Type: Uint64, Unit: Count, Doc: "Pairs with one of the six verdicts from equal to structure."},
		{Name: "only_problem_count", Type: Uint64, Unit: Count, Doc: "Tensors that only the problem has."},
		{Name: "only_bench_count", Type: Uint64, Unit: Count, Doc: "Tensors that only the bench has."},
		{Name: "unknown_count", Type: Uint64, Unit: Count, Doc: "Those of which nothing can be said."},
		{Name: "alone_unknown_count", Type: Uint64, Unit: Count, Doc: "Of these, without partner."},
		{Name: "equal_count", Type: Uint64, Unit: Count, Doc: "Pairs with the verdict equal."},
		{Name: "within_count", Type: Uint64, Unit: Count, Doc: "Pairs with the verdict within."},
		{Name: "agrees_count", Type: Uint64, Unit: Count, Doc: "Pairs with the verdict agrees."},
		{Name: "diverged_count", Type: Uint64, Unit: Count, Doc: "Pairs with the verdict diverged."},
		{Name: "not_finite_count", Type: Uint64, Unit: Count, Doc: "Pairs with the verdict not_finite."},
		{Name: "structure_count", Type: Uint64, Unit: Count, Doc: "Pairs with the verdict structure."},
		{Name: "measured_count", Type: Uint64, Unit: Count, Doc: "Pairs whose verdict rests on numbers."},
		{Name: "proved_equal_count", Type: Uint64, Unit: Count, Doc: "Equal pairs that are no literals."},
		{Name: "argument_count", Type: Uint64, Unit: Count, Doc: "Arguments without numbers whose literal or type differs."},
		{Name: "same_not_finite_count", Type: Uint64, Unit: Count, Doc: "Pairs with NaN or infinity on both sides that make no difference."},
		{Name: "bits_differ_count", Type: Uint64, Unit: Count, Doc: "Those whose bits differ under the same statistics."},
		{Name: "uninitialised_count", Type: Uint64, Unit: Count, Doc: "Those of memory that nobody wrote to."},
		{Name: "differing_count", Type: Uint64, Unit: Count, Doc: "Those that make the runs differ."},
	}
}
