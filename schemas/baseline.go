package schemas

// Baseline is a standing comparison: every run that matches is judged against the same benches.
func Baseline() Table {
	return Table{
		Name: "baseline", Version: 1, Class: Definition,
		Key: []string{"name", "changed_time_ns"},
		Doc: "One row per change of a standing comparison; the latest counts.",
		Columns: []Column{
			{Name: "name", Type: String, Unit: None, Doc: "Name of the baseline, unique in a store."},
			{Name: "changed_time_ns", Type: Int64, Unit: Nanoseconds, Doc: "Time when it was set or removed, by the clock of that host."},
			{Name: "removed", Type: Uint8, Unit: None, Doc: "1 when it was removed; the columns below are then as they were."},
			{Name: "benches", Type: Strings, Unit: None, Doc: "Names of the benches; runs pair with the first."},
			{Name: "labels", Type: StringMap, Unit: None, Doc: "Labels that a run must have to be judged; empty for every run."},
			{Name: "tolerance", Type: Float64, Unit: None, Doc: "Greatest relative error that is tolerated; -1 for one by dtype and depth."},
			{Name: "tolerances", Type: Strings, Unit: None, Doc: "Rules that go before it, as in declared_comparison."},
			{Name: "exceptions", Type: Strings, Unit: None, Doc: "The user's own exceptions, as in declared_comparison."},
			{Name: "step_offset", Type: Int64, Unit: Ordinal, Doc: "Number to add to a step of the problem to get the step of the bench."},
			{Name: "mapping", Type: String, Unit: None, Doc: "Text of the mapping file, as in declared_comparison."},
			{Name: "strict", Type: Uint8, Unit: None, Doc: "1 when ops on one side only make the runs differ."},
		},
	}
}
