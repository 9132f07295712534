package schemas

// Alignment is the pairing of the ops of two programs, once per pair of programs.
func Alignment() Table {
	return Table{
		Name: "alignment", Version: 1, Class: Definition,
		Key: []string{"problem_program_id", "bench_program_id", "rules", "content", "position"},
		Doc: "One row per op of two different programs, beside its partner in the other; together the rows hold every op of both once.",
		Columns: []Column{
			{Name: "problem_program_id", Type: Uint64, Unit: Hash, Doc: "The program of the run under suspicion."},
			{Name: "bench_program_id", Type: Uint64, Unit: Hash, Doc: "The program of the bench."},
			{Name: "rules", Type: Uint16, Unit: None, Doc: "Version of the rules that paired them; the greatest counts."},
			{Name: "content", Type: Uint64, Unit: Hash, Doc: "Hash of the whole alignment: it depends on the inputs of the ops, too, so two runs of the same programs may have another."},
			{Name: "position", Type: Uint32, Unit: Ordinal, Doc: "Position in the order that merges both programs, from 0."},
			{Name: "problem_op_id", Type: Uint64, Unit: Hash, Doc: "Op of the problem; 0 when only the bench has one."},
			{Name: "bench_op_id", Type: Uint64, Unit: Hash, Doc: "Op of the bench; 0 when only the problem has one."},
			{Name: "problem_position", Type: Uint32, Unit: Ordinal, Nullable: true, Doc: "Position in the problem's program; null when only the bench has one."},
			{Name: "bench_position", Type: Uint32, Unit: Ordinal, Nullable: true, Doc: "Position in the bench's program; null when only the problem has one."},
			{Name: "reason", Type: String, Unit: None, Doc: "Why they are paired, or why one stands alone: module, renamed, id, sequence, only_problem or only_bench."},
		},
	}
}
