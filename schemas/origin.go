package schemas

// Origin is where the problem of a comparison began to differ.
func Origin() Table {
	return Table{
		Name: "origin", Version: 1, Class: Definition,
		Key: []string{"comparison_id", "revision", "position"},
		Doc: "One row per place where the difference of a comparison began: no other rank's first difference precedes it.",
		Columns: append([]Column{
			{Name: "comparison_id", Type: Uint64, Unit: Hash, Doc: "The comparison (declared_comparison)."},
			{Name: "revision", Type: Uint64, Unit: Ordinal, Doc: "Greater for each later answer, as more steps are judged; views keep the greatest."},
			{Name: "basis", Type: Uint64, Unit: Hash, Doc: "Hash of the judgings of its step, on which the answer rests."},
			{Name: "position", Type: Uint32, Unit: Ordinal, Doc: "Position in the answer, from 0."},
			{Name: "rank", Type: Uint32, Unit: Ordinal, Doc: "Rank of the problem."},
			{Name: "step", Type: Uint32, Unit: Ordinal, Doc: "Step of the problem."},
			{Name: "seq", Type: Uint64, Unit: Ordinal, Doc: "Place in the rank's own order."},
			{Name: "micro_step", Type: Uint16, Unit: Ordinal, Doc: "Micro step of the problem, from 0."},
			{Name: "micro_step_count", Type: Uint16, Unit: Count, Doc: "How many micro steps that step of the rank has, as far as was recorded; 1 where it has no parts."},
			{Name: "op", Type: String, Unit: None, Doc: "Full name of the op."},
			{Name: "module", Type: String, Unit: None, Doc: "Path of its module; empty when it has none."},
			{Name: "role", Type: String, Unit: None, Doc: "input, kwarg, output, parameter or parameter_gradient."},
			{Name: "path", Type: String, Unit: None, Doc: "Place within the role."},
			{Name: "kind", Type: String, Unit: None, Doc: "parameter, argument, data, computed, operation or unknown."},
			{Name: "parameter", Type: String, Unit: None, Doc: "Parameter of the calling module that has the very values; empty when none has."},
			{Name: "operation", Type: String, Unit: None, Doc: "Ops of one run only that stand directly before, or the op that stands in its place; empty when there is none."},
			{Name: "verdict", Type: String, Unit: None, Doc: "Verdict of the pair."},
			{Name: "reason", Type: String, Unit: None, Doc: "Reason, if the verdict is unknown; else empty."},
			{Name: "evidence", Type: String, Unit: None, Doc: "Evidence of the verdict."},
			{Name: "error", Type: Float64, Unit: None, Nullable: true, Doc: "Relative L2 error; null when not known."},
			{Name: "tolerance", Type: Float64, Unit: None, Nullable: true, Doc: "Greatest error that was tolerated here; null when numbers were not judged."},
			{Name: "side", Type: String, Unit: None, Doc: "Run that has NaN or infinity: problem, bench, both or none."},
		}, originSides()...),
	}
}

func originSides() []Column {
	return []Column{
		{Name: "problem_layout_id", Type: Uint64, Unit: Hash, Doc: "Layout in the problem; 0 where it has none."},
		{Name: "bench_layout_id", Type: Uint64, Unit: Hash, Doc: "Layout in the bench; 0 where it has none."},
		{Name: "problem_min", Type: Float64, Unit: None, Nullable: true, Doc: "Least element; null when not measured, as all statistics."},
		{Name: "bench_min", Type: Float64, Unit: None, Nullable: true, Doc: "Least element."},
		{Name: "problem_max", Type: Float64, Unit: None, Nullable: true, Doc: "Greatest element."},
		{Name: "bench_max", Type: Float64, Unit: None, Nullable: true, Doc: "Greatest element."},
		{Name: "problem_mean", Type: Float64, Unit: None, Nullable: true, Doc: "Mean of the elements."},
		{Name: "bench_mean", Type: Float64, Unit: None, Nullable: true, Doc: "Mean of the elements."},
		{Name: "problem_l2", Type: Float64, Unit: None, Nullable: true, Doc: "Square root of the sum of squares."},
		{Name: "bench_l2", Type: Float64, Unit: None, Nullable: true, Doc: "Square root of the sum of squares."},
		{Name: "user_frame", Type: String, Unit: None, Doc: "Innermost frame of the user's own code; empty when not known."},
		{Name: "concurrent_count", Type: Uint64, Unit: Count, Doc: "How many origins there are."},
		{Name: "at_or_before", Type: Uint8, Unit: None, Doc: "1 when not all that ran before was observed, so that it may have begun there."},
		{Name: "unseen", Type: String, Unit: None, Doc: "Forwards that were not observed before it, and the reason, in words; empty when all were."},
	}
}
