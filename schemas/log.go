package schemas

// Log is one line that a process wrote, or one record of its logger.
func Log() Table {
	return Table{
		Name: "log", Version: 1, Class: Measurement, Beside: true, PartitionByDay: true,
		Key: []string{"run_id", "event_time_ns", "rank", "seq"},
		Doc: "One row per line that a process wrote to its output or a log file, or per record of Python's logging.",
		Columns: measurement(
			Column{Name: "step", Type: Uint32, Unit: Ordinal, Nullable: true, Doc: "Step that was under way at the rank; null when not known."},
			Column{Name: "seq", Type: Uint64, Unit: Ordinal, Doc: "Order of the lines within the epoch, which is one stream of one process."},
			Column{Name: "time_basis", Type: String, Unit: None, Doc: "How the event's time is known: record, line (with a zone), line in zone Z, line in host's zone, line before, read, or file."},
			Column{Name: "host", Type: String, Unit: None, Doc: "Name of the host; empty when not known."},
			Column{Name: "pid", Type: Int64, Unit: Ordinal, Nullable: true, Doc: "Process; null when not known."},
			Column{Name: "role", Type: String, Unit: None, Doc: "scheduler, tokenizer, detokenizer, worker, data loader and so on; empty when not known."},
			Column{Name: "stream", Type: String, Unit: None, Doc: "out, err, logging, or the name of the file."},
			Column{Name: "level", Type: String, Unit: None, Doc: "debug, info, warning, error or critical; empty when the line has none."},
			Column{Name: "logger", Type: String, Unit: None, Doc: "Name of the logger, or source file and line; empty when the line has none."},
			Column{Name: "kind", Type: String, Unit: None, Doc: "Known kind of the line, as sglang decode batch; empty for plain text."},
			Column{Name: "op_id", Type: Uint64, Unit: Hash, Doc: "Op that was under way (op); 0 when not known."},
			Column{Name: "request", Type: String, Unit: None, Doc: "The engine's name of the request; empty when the line names none."},
			Column{Name: "text", Type: String, Unit: None, Doc: "The line as it was written, without its end; cut where it is very long."},
			Column{Name: "exception", Type: String, Unit: None, Doc: "Traceback of the record; empty when it has none."},
			Column{Name: "fields", Type: StringMap, Unit: None, Doc: "The record's own fields, or the pairs of a known line."},
		),
	}
}
