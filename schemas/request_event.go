package schemas

// RequestEvent is one moment in the life of a request in an inference engine.
func RequestEvent() Table {
	return Table{
		Name: "request_event", Version: 1, Class: Measurement, Beside: true,
		Key: []string{"run_id", "request", "event_time_ns", "rank", "seq"},
		Doc: "One row per moment in the life of a request that a process or its files tell of.",
		Columns: measurement(
			Column{Name: "step", Type: Uint32, Unit: Ordinal, Nullable: true, Doc: "Step of the rank; null when not known."},
			Column{Name: "seq", Type: Uint64, Unit: Ordinal, Doc: "Order of the rows within the epoch."},
			Column{Name: "request", Type: String, Unit: None, Doc: "The engine's name of the request."},
			Column{Name: "moment", Type: String, Unit: None, Doc: "received, tokenised, scheduled, finished, aborted, or unfinished (at the moment of a crash)."},
			Column{Name: "pid", Type: Int64, Unit: Ordinal, Nullable: true, Doc: "Process; null when not known."},
			Column{Name: "role", Type: String, Unit: None, Doc: "scheduler, tokenizer, detokenizer, worker and so on; empty when not known."},
			Column{Name: "prompt_hash", Type: Uint64, Unit: Hash, Doc: "Hash of the prompt: of its text where the source has no ids of tokens; 0 when not known."},
			Column{Name: "prompt", Type: String, Unit: None, Doc: "The prompt itself, where the user asked to keep it; else empty."},
			Column{Name: "prompt_token_count", Type: Uint32, Unit: Count, Nullable: true, Doc: "Tokens of the prompt; null when not known."},
			Column{Name: "output_token_count", Type: Uint32, Unit: Count, Nullable: true, Doc: "Tokens made so far; null when not known."},
			Column{Name: "reason", Type: String, Unit: None, Doc: "Why it ended; empty when it did not, or nobody says."},
			Column{Name: "fields", Type: StringMap, Unit: None, Doc: "What else the source says: sampling parameters, times between."},
		),
	}
}
