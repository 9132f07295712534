package schemas

// Collective is one rank's part of a collective operation, or of a message to one peer.
func Collective() Table {
	return Table{
		Name: "collective", Version: 1, Class: Measurement,
		Key: []string{"run_id", "process_group", "group_seq", "rank", "seq"},
		Doc: "One row per call of a collective by a rank, or of a send or receive: with what it came, and how far it got.",
		Columns: measurement(
			Column{Name: "step", Type: Uint32, Unit: Ordinal, Nullable: true, Doc: "Step of the rank; null when the source does not say."},
			Column{Name: "seq", Type: Uint64, Unit: Ordinal, Doc: "Order of the rows within the epoch."},
			Column{Name: "process_group", Type: String, Unit: None, Doc: "Process group, the same on all its ranks: its description, or else its ranks."},
			Column{Name: "group_ranks", Type: Int64s, Unit: Ordinal, Doc: "Global ranks of the group, in order; empty when not known."},
			Column{Name: "group_seq", Type: Uint64, Unit: Ordinal, Doc: "Number of the call within the group, which joins its ranks."},
			Column{Name: "point_to_point", Type: Uint8, Unit: None, Doc: "1 for a send or receive, which has a number of its own."},
			Column{Name: "name", Type: String, Unit: None, Doc: "all_reduce, all_gather, send and so on."},
			Column{Name: "state", Type: String, Unit: None, Doc: "scheduled, started or completed, as far as was seen."},
			Column{Name: "inputs", Type: String, Unit: None, Doc: "Dtypes and shapes of what the rank gave, as text; empty when not known."},
			Column{Name: "outputs", Type: String, Unit: None, Doc: "Dtypes and shapes of what it gets."},
			Column{Name: "started_time_ns", Type: Int64, Unit: Nanoseconds, Nullable: true, Doc: "When it was seen to have started; the event's time is that of the call. Null when it was not seen."},
			Column{Name: "completed_time_ns", Type: Int64, Unit: Nanoseconds, Nullable: true, Doc: "When it was seen to be complete; null when it was not."},
			Column{Name: "timeout_ns", Type: Int64, Unit: Nanoseconds, Nullable: true, Doc: "After which time the group gives up; null when not known."},
			Column{Name: "stack_id", Type: Uint64, Unit: Hash, Doc: "Call stack (stack); 0 when not known."},
		),
	}
}
