package schemas

// DeclaredComparison is a comparison as somebody asked for it. The same question is the same comparison.
func DeclaredComparison() Table {
	return Table{
		Name: "declared_comparison", Version: 1, Class: Definition,
		Key: []string{"comparison_id", "declared_time_ns"},
		Doc: "One row per time that a comparison was asked for: the runs, and the rules of judgement; the latest counts.",
		Columns: []Column{
			{Name: "comparison_id", Type: Uint64, Unit: Hash, Doc: "Hash of all other columns but the time, strict and standing, which change no verdict on a pair."},
			{Name: "declared_time_ns", Type: Int64, Unit: Nanoseconds, Doc: "Time when it was asked for, by the clock of that host."},
			{Name: "problem", Type: String, Unit: None, Doc: "Name of the run under suspicion."},
			{Name: "benches", Type: Strings, Unit: None, Doc: "Names of the benches; the problem pairs with the first."},
			{Name: "tolerance", Type: Float64, Unit: None, Doc: "Greatest relative error that is tolerated; -1 for one by dtype and depth."},
			{Name: "tolerances", Type: Strings, Unit: None, Doc: "Rules that go before it, each as its pattern of op, pattern of dtype and tolerance, with a tab between them."},
			{Name: "exceptions", Type: Strings, Unit: None, Doc: "The user's own exceptions, each as its columns of known_exception, with a tab between them."},
			{Name: "step_offset", Type: Int64, Unit: Ordinal, Doc: "Number to add to a step of the problem to get the step of the bench."},
			{Name: "strict", Type: Uint8, Unit: None, Doc: "1 when ops on one side only make the runs differ."},
			{Name: "standing", Type: Uint8, Unit: None, Doc: "1 when every step is judged as it lands, 0 when steps are judged on request."},
			{Name: "mapping", Type: String, Unit: None, Doc: "Text of the mapping file; empty when modules pair by their own names."},
			{Name: "payloads", Type: Uint64, Unit: Hash, Doc: "Hash of the errors of raw tensors that were known; 0 when there were none."},
			{Name: "calibration", Type: String, Unit: None, Doc: "Name of the run whose distance from the bench measures the tolerance; empty for none."},
			{Name: "rules", Type: Uint64, Unit: None, Doc: "Version of the rules of judgement."},
		},
	}
}
