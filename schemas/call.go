package schemas

// Call counts the calls of one step of one rank at level aten.
func Call() Table {
	return Table{
		Name: "call", Version: 1, Class: Measurement,
		Key: []string{"run_id", "rank", "step"},
		Doc: "One row per step of a rank whose ATen ops were counted by signature.",
		Columns: measurement(
			Column{Name: "step", Type: Uint32, Unit: Ordinal, Doc: "Step of the rank."},
			Column{Name: "tally_id", Type: Uint64, Unit: Hash, Doc: "Signatures and counts of the calls (tally)."},
			Column{Name: "call_count", Type: Uint64, Unit: Count, Doc: "Calls of the step, of all signatures."},
		),
	}
}
