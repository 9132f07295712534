package schemas

// Unseen is something that a rank's observer left out, and why.
func Unseen() Table {
	return Table{
		Name: "unseen", Version: 1, Class: Measurement,
		Key: []string{"run_id", "rank", "step", "reason", "subject"},
		Doc: "One row per step, reason and subject that was not observed, on purpose or because it could not be.",
		Columns: measurement(
			Column{Name: "step", Type: Uint32, Unit: Ordinal, Doc: "Step of the rank."},
			Column{Name: "reason", Type: String, Unit: None, Doc: "filtered, sampled, compiled, other thread, unsupported tensor and so on."},
			Column{Name: "subject", Type: String, Unit: None, Doc: "Module, API or kind of tensor; empty when there is none."},
			Column{Name: "unseen_count", Type: Uint64, Unit: Count, Doc: "How often in the step."},
		),
	}
}
