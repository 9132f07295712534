package schemas

// Comparison is one comparison of stored runs, with its verdict.
func Comparison() Table {
	return Table{
		Name: "comparison", Version: 1, Class: Definition,
		Key: []string{"comparison_id"},
		Doc: "One row per comparison of stored runs: the question, the version of the rules, and the answer in numbers.",
		Columns: []Column{
			{Name: "comparison_id", Type: Uint64, Unit: Hash, Doc: "Hash of the question and the answer: the same answer is the same comparison."},
			{Name: "created_time_ns", Type: Int64, Unit: Nanoseconds, Doc: "Time of this answer, first or again after another answer, by the clock of the comparing host."},
			{Name: "problem", Type: String, Unit: None, Doc: "Name of the run under suspicion."},
			{Name: "benches", Type: Strings, Unit: None, Doc: "Names of the benches; the problem pairs with the first."},
			{Name: "rules", Type: Uint64, Unit: None, Doc: "Version of the rules of judgement."},
			{Name: "tool_version", Type: String, Unit: None, Doc: "Version of tensortap."},
			{Name: "question", Type: String, Unit: None, Doc: "Tolerance, steps and so on, as flags."},
			{Name: "verdict", Type: String, Unit: None, Doc: "same, differs or unknown."},
			{Name: "complete", Type: Uint8, Unit: None, Doc: "1 when all that the ranks produced was there."},
			{Name: "paired_count", Type: Uint64, Unit: Count, Doc: "Tensors and other arguments that have a partner."},
			{Name: "only_problem_count", Type: Uint64, Unit: Count, Doc: "Those that only the problem has."},
			{Name: "only_bench_count", Type: Uint64, Unit: Count, Doc: "Those that only the bench has."},
			{Name: "unknown_count", Type: Uint64, Unit: Count, Doc: "Tensors and other arguments that could not be judged."},
			{Name: "equal_count", Type: Uint64, Unit: Count, Doc: "Pairs with the verdict equal."},
			{Name: "within_count", Type: Uint64, Unit: Count, Doc: "Pairs with the verdict within."},
			{Name: "agrees_count", Type: Uint64, Unit: Count, Doc: "Pairs with the verdict agrees."},
			{Name: "diverged_count", Type: Uint64, Unit: Count, Doc: "Pairs with the verdict diverged."},
			{Name: "not_finite_count", Type: Uint64, Unit: Count, Doc: "Pairs with the verdict not_finite."},
			{Name: "structure_count", Type: Uint64, Unit: Count, Doc: "Pairs with the verdict structure."},
		},
	}
}
