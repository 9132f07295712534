package schemas

// Request is a request's part of a step of an inference engine.
func Request() Table {
	return Table{
		Name: "request", Version: 1, Class: Measurement,
		Key: []string{"run_id", "rank", "step", "seq"},
		Doc: "One row per step of a rank and request that it serves: which tokens, and where they lie in the step's tensors.",
		Columns: measurement(
			Column{Name: "step", Type: Uint32, Unit: Ordinal, Doc: "Step of the rank."},
			Column{Name: "seq", Type: Uint64, Unit: Ordinal, Doc: "Order of the rows within the epoch; within a step the order of the batch where row_offset is known."},
			Column{Name: "request", Type: String, Unit: None, Doc: "The engine's name of the request, which is another in each run; empty when it was not kept."},
			Column{Name: "phase", Type: String, Unit: None, Doc: "prefill, decode and so on, of this request."},
			Column{Name: "prompt_hash", Type: Uint64, Unit: Hash, Doc: "Hash of the ids of the prompt's tokens, the same in each run; 0 when not known."},
			Column{Name: "prompt_token_count", Type: Uint32, Unit: Count, Nullable: true, Doc: "Tokens of the prompt; null when not known."},
			Column{Name: "first_position", Type: Uint64, Unit: Ordinal, Nullable: true, Doc: "Position of the first token in the request, from 0; null when not known."},
			Column{Name: "token_count", Type: Uint64, Unit: Count, Doc: "Tokens of the request in the step."},
			Column{Name: "row_offset", Type: Uint64, Unit: Ordinal, Nullable: true, Doc: "First row of these tokens in the step's tensors, from 0; null when not known."},
		),
	}
}
