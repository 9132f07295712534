package schemas

// judgement are the first columns of each row about judged steps: run and rank of the problem, and an epoch that
// stands for one judging of one step by one comparison.
func judgement(columns ...Column) []Column {
	return append(measurement(
		Column{Name: "comparison_id", Type: Uint64, Unit: Hash, Doc: "The comparison (declared_comparison)."},
		Column{Name: "step", Type: Uint32, Unit: Ordinal, Doc: "Step of the problem; for a tensor that only the bench has, the step of its missing partner."},
		Column{Name: "generation", Type: Uint32, Unit: Ordinal, Doc: "Number of times that other content replaced the step, on both sides together; views keep the greatest."},
		Column{Name: "provisional", Type: Uint8, Unit: None, Doc: "1 when the step was judged before it had ended in both runs, or while its rows were incomplete; views hide it once it is judged whole."},
	), columns...)
}

// Verdict is the verdict on a pair of tensors that do not agree, with its evidence.
func Verdict() Table {
	return Table{
		Name: "verdict", Version: 1, Class: Measurement, Judged: true,
		Key: []string{"comparison_id", "step", "seq", "rank", "micro_step", "site_id"},
		Doc: "One row per pair of tensors that is not equal, within the tolerance or agreeing; judged_step counts the others.",
		Columns: judgement(
			Column{Name: "bench_rank", Type: Uint32, Unit: Ordinal, Doc: "Rank of the bench."},
			Column{Name: "bench_step", Type: Uint32, Unit: Ordinal, Doc: "Step of the bench."},
			Column{Name: "micro_step", Type: Uint16, Unit: Ordinal, Doc: "Micro step within the step; 0 when there is one."},
			Column{Name: "seq", Type: Uint64, Unit: Ordinal, Doc: "Place in the rank's own order: the problem's, or the bench's where it stands alone."},
			Column{Name: "site_id", Type: Uint64, Unit: Hash, Doc: "The tensor of the op (site): the problem's, or the bench's where it stands alone."},
			Column{Name: "bench_site_id", Type: Uint64, Unit: Hash, Doc: "The bench's tensor; 0 where it has none."},
			Column{Name: "parent_op_id", Type: Uint64, Unit: Hash, Doc: "Module that called the op; 0 when there is none."},
			Column{Name: "user_frame", Type: String, Unit: None, Doc: "Innermost frame of the user's own code that led to the op; empty when not known."},
			Column{Name: "problem_present", Type: Uint8, Unit: None, Doc: "1 when the problem has the tensor."},
			Column{Name: "bench_present", Type: Uint8, Unit: None, Doc: "1 when the bench has it."},
			Column{Name: "problem_layout_id", Type: Uint64, Unit: Hash, Doc: "Layout in the problem; 0 where it has none."},
			Column{Name: "bench_layout_id", Type: Uint64, Unit: Hash, Doc: "Layout in the bench; 0 where it has none."},
			Column{Name: "verdict", Type: String, Unit: None, Doc: "diverged, not_finite, structure, unpaired or unknown; a row that differs for another reason may be equal, within or agrees."},
			Column{Name: "numeric", Type: String, Unit: None, Doc: "Verdict on the numbers alone: equal, within, agrees, diverged, not_finite or none."},
			Column{Name: "evidence", Type: String, Unit: None, Doc: "Evidence of the verdict: payload, digest, sketch, statistics, literal or none."},
			Column{Name: "side", Type: String, Unit: None, Doc: "Run that has NaN or infinity, or that alone has the tensor: problem, bench, both or none."},
			Column{Name: "reason", Type: String, Unit: None, Doc: "Reason of the verdict unknown, or why the tensor stands alone; else empty."},
			Column{Name: "structure", Type: Uint8, Unit: None, Doc: "1 when dtype, shape, requires_grad or literal differs in a way that counts."},
			Column{Name: "differs", Type: Uint8, Unit: None, Doc: "1 when it makes the runs differ."},
			Column{Name: "error", Type: Float64, Unit: None, Nullable: true, Doc: "Relative L2 error by the evidence; null when not known."},
			Column{Name: "error_low", Type: Float64, Unit: None, Nullable: true, Doc: "Proven lower bound of the error, or the lower end of its 95 % interval; null when not known."},
			Column{Name: "error_high", Type: Float64, Unit: None, Nullable: true, Doc: "Upper end of the interval, infinite when only a lower bound is known; null when not known."},
			Column{Name: "tolerance", Type: Float64, Unit: None, Nullable: true, Doc: "Greatest error that was tolerated here; null when numbers were not judged."},
			Column{Name: "z_score", Type: Float64, Unit: None, Nullable: true, Doc: "Distance from the spread of three benches or more; null with fewer."},
			Column{Name: "problem_measured", Type: Uint32, Unit: Bits, Doc: "Which statistics the problem measured, as in tensor.measured; an unmeasured one is 0 here and null in the views."},
			Column{Name: "bench_measured", Type: Uint32, Unit: Bits, Doc: "Which statistics the bench measured, as in tensor.measured; columns below likewise."},
			Column{Name: "problem_element_count", Type: Uint64, Unit: Count, Doc: "Elements of the tensor."},
			Column{Name: "bench_element_count", Type: Uint64, Unit: Count, Doc: "Elements of the tensor."},
			Column{Name: "problem_min", Type: Float64, Unit: None, Doc: "Least element."},
			Column{Name: "bench_min", Type: Float64, Unit: None, Doc: "Least element."},
			Column{Name: "problem_max", Type: Float64, Unit: None, Doc: "Greatest element."},
			Column{Name: "bench_max", Type: Float64, Unit: None, Doc: "Greatest element."},
			Column{Name: "problem_mean", Type: Float64, Unit: None, Doc: "Mean of the elements."},
			Column{Name: "bench_mean", Type: Float64, Unit: None, Doc: "Mean of the elements."},
			Column{Name: "problem_l2", Type: Float64, Unit: None, Doc: "Square root of the sum of squares."},
			Column{Name: "bench_l2", Type: Float64, Unit: None, Doc: "Square root of the sum of squares."},
			Column{Name: "problem_not_finite_count", Type: Uint64, Unit: Count, Doc: "Elements that are NaN or infinite."},
			Column{Name: "bench_not_finite_count", Type: Uint64, Unit: Count, Doc: "Elements that are NaN or infinite."},
		),
	}
}
