package schemas

// Metric is a number that a program itself reported.
func Metric() Table {
	return Table{
		Name: "metric", Version: 1, Class: Measurement, Beside: true,
		Key: []string{"run_id", "name", "rank", "event_time_ns", "seq"},
		Doc: "One row per number that a program reported of itself: in a known line of its log, or in a file of scalars.",
		Columns: measurement(
			Column{Name: "step", Type: Uint32, Unit: Ordinal, Nullable: true, Doc: "Step, as the program numbers it where it says so, else the one under way at the rank; null when not known."},
			Column{Name: "seq", Type: Uint64, Unit: Ordinal, Doc: "Order of the rows within the epoch."},
			Column{Name: "name", Type: String, Unit: None, Doc: "Name, as the program gives it: token usage, loss, grad_norm."},
			Column{Name: "value", Type: Float64, Unit: None, Doc: "The number, in the program's own unit."},
			Column{Name: "digits", Type: Int16, Unit: None, Doc: "Decimals that the source gives; -1 when the number is exact."},
			Column{Name: "source", Type: String, Unit: None, Doc: "Kind of line or file, as sglang decode batch."},
			Column{Name: "request", Type: String, Unit: None, Doc: "The engine's name of the request; empty when it is of none."},
		),
	}
}
