package schemas

// Token is one token that a model has sampled or scored, with its log-probability.
func Token() Table {
	return Table{
		Name: "token", Version: 1, Class: Measurement,
		Key: []string{"run_id", "global_step", "prompt_hash", "sample", "position"},
		Doc: "One row per token that a program sampled or scored, and told the collector of: its log-probability under the model, and under which settings.",
		Columns: measurement(
			Column{Name: "step", Type: Uint32, Unit: Ordinal, Doc: "Step of the rank that was under way or, between two, the one before."},
			Column{Name: "seq", Type: Uint64, Unit: Ordinal, Doc: "Order of the rows within the epoch."},
			Column{Name: "global_step", Type: Uint64, Unit: Ordinal, Doc: "The trainer's step that the token is for, as the program says; step where it says none. Two runs pair by it."},
			Column{Name: "prompt_hash", Type: Uint64, Unit: Hash, Doc: "Hash of the ids of the prompt's tokens, as in request, or of the name that the program has for it."},
			Column{Name: "sample", Type: Uint32, Unit: Ordinal, Doc: "Which answer to the prompt, from 0."},
			Column{Name: "position", Type: Uint32, Unit: Ordinal, Doc: "Position in the sequence, prompt and answer, from 0."},
			Column{Name: "token_id", Type: Uint32, Unit: None, Doc: "The token's id in the vocabulary."},
			Column{Name: "log_probability", Type: Float64, Unit: None, Doc: "Natural logarithm of the token's probability given those before it, as a float32."},
			Column{Name: "entropy", Type: Float64, Unit: None, Nullable: true, Doc: "Entropy in nats of the distribution that it is of; null when not told."},
			Column{Name: "phase", Type: String, Unit: None, Doc: "prefill, decode, train and so on, as the program says; empty when it does not."},
			Column{Name: "weights_version", Type: Uint64, Unit: Ordinal, Nullable: true, Doc: "The trainer's update that the weights were of, as the program says; null when it does not. Their checksums are in weight."},
			Column{Name: "temperature", Type: Float64, Unit: None, Nullable: true, Doc: "Temperature that the logits were divided by; null when not told."},
			Column{Name: "cached_token_count", Type: Uint32, Unit: Count, Nullable: true, Doc: "Tokens at the beginning of the sequence that came from a cache of prefixes; null when not told."},
		),
	}
}
