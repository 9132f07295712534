package schemas

// Heartbeat is a sign of life of a rank, or the news of its end.
func Heartbeat() Table {
	return Table{
		Name: "heartbeat", Version: 1, Class: Measurement,
		Key: []string{"run_id", "rank", "event_time_ns"},
		Doc: "One row per sign of life of a rank's process, with the op under way; the last says how the process ended. The event's time is the time of the sign, by the agent's clock where the rank's is off by a minute or more.",
		Columns: measurement(
			Column{Name: "state", Type: String, Unit: None, Doc: "running, ended (by itself) or died."},
			Column{Name: "step", Type: Uint32, Unit: Ordinal, Doc: "Step under way, or the last one."},
			Column{Name: "seq", Type: Uint64, Unit: Ordinal, Doc: "Seq of the op's record at the rank; 0 when there was none."},
			Column{Name: "op_id", Type: Uint64, Unit: Hash, Doc: "The op under way, or the last one; 0 when there was none."},
			Column{Name: "since_time_ns", Type: Int64, Unit: Nanoseconds, Nullable: true, Doc: "When that op began, by the same clock; null when there was none."},
			Column{Name: "debugged_since_time_ns", Type: Int64, Unit: Nanoseconds, Nullable: true, Doc: "Since when a person holds the process up, by the same clock: it waits for a debugger, one is attached, or it stands at a prompt; null when nobody does."},
		),
	}
}
