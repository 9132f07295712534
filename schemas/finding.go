package schemas

// Finding is one place that a comparison names.
func Finding() Table {
	return Table{
		Name: "finding", Version: 1, Class: Definition,
		Key: []string{"comparison_id", "position"},
		Doc: "One row per place that a comparison names: its origins, then other differences, in order.",
		Columns: []Column{
			{Name: "comparison_id", Type: Uint64, Unit: Hash, Doc: "The comparison."},
			{Name: "position", Type: Uint32, Unit: Ordinal, Doc: "Position in the answer, from 0; origins come first."},
			{Name: "origin", Type: Uint8, Unit: None, Doc: "1 when nothing that differs precedes it."},
			{Name: "rank", Type: Uint32, Unit: Ordinal, Doc: "Rank of the problem."},
			{Name: "step", Type: Uint32, Unit: Ordinal, Doc: "Step of the problem."},
			{Name: "op", Type: String, Unit: None, Doc: "Full name of the op."},
			{Name: "module", Type: String, Unit: None, Doc: "Path of its module; empty when it has none."},
			{Name: "role", Type: String, Unit: None, Doc: "input, kwarg, output, parameter or parameter_gradient."},
			{Name: "path", Type: String, Unit: None, Doc: "Place within the role."},
			{Name: "kind", Type: String, Unit: None, Doc: "parameter, argument, data, computed or operation; empty when no origin."},
			{Name: "verdict", Type: String, Unit: None, Doc: "Verdict of the pair."},
			{Name: "evidence", Type: String, Unit: None, Doc: "Evidence of the verdict: payload, digest, sketch or statistics."},
			{Name: "error", Type: Float64, Unit: None, Nullable: true, Doc: "Relative L2 error, or its proven lower bound; null when not known."},
			{Name: "tolerance", Type: Float64, Unit: None, Nullable: true, Doc: "Greatest error that was tolerated here; null when numbers were not judged."},
			{Name: "user_frame", Type: String, Unit: None, Doc: "Innermost frame of the user's own code; empty when not known."},
		},
	}
}
