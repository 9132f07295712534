package schemas

// TokenSite is what one token was at one place of the model.
func TokenSite() Table {
	return Table{
		Name: "token_site", Version: 1, Class: Measurement,
		Key: []string{"run_id", "layer", "place", "prompt_hash", "sample", "position", "rank", "epoch", "step"},
		Doc: "One row per token and place of the model that it passed: its norm, and a few sums from which the distance of two such tokens is estimated.",
		Columns: measurement(
			Column{Name: "step", Type: Uint32, Unit: Ordinal, Doc: "Step of the rank."},
			Column{Name: "prompt_hash", Type: Uint64, Unit: Hash, Doc: "Hash of the ids of the prompt's tokens, as in request, or of the name that the program has for it."},
			Column{Name: "sample", Type: Uint32, Unit: Ordinal, Doc: "Which answer to the prompt, from 0."},
			Column{Name: "position", Type: Uint32, Unit: Ordinal, Doc: "Position in the sequence, prompt and answer, from 0. Two runs pair by it, prompt_hash, sample, layer and place."},
			Column{Name: "layer", Type: Uint16, Unit: Ordinal, Doc: "The layer, from 1; 0 before the first, one more than there are behind the last."},
			Column{Name: "place", Type: Uint8, Unit: None, Doc: "1 embedding, 2 attention's output, 3 router's logits, 4 residual stream after the layer, 5 logits."},
			Column{Name: "row_count", Type: Uint32, Unit: Count, Doc: "Tokens of all sequences in the step."},
			Column{Name: "norm_bits", Type: Uint32, Unit: None, Doc: "Bits of a float32: Euclidean norm of the token's elements; not finite where one of them is not."},
			Column{Name: "mean_bits", Type: Uint32, Unit: None, Doc: "Bits of a float32: their mean."},
			Column{Name: "nan_count", Type: Uint32, Unit: Count, Doc: "Elements that are not a number, or infinite."},
			Column{Name: "sum_0", Type: Int16, Unit: None, Doc: "First of four sums of the elements, each with a sign that depends on its index and the sum's alone: in units of norm / 4096, cut at 8 norms."},
			Column{Name: "sum_1", Type: Int16, Unit: None, Doc: "Second of the sums."},
			Column{Name: "sum_2", Type: Int16, Unit: None, Doc: "Third of the sums."},
			Column{Name: "sum_3", Type: Int16, Unit: None, Doc: "Fourth of the sums."},
		),
	}
}
