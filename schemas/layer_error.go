package schemas

// LayerError is the distance of two runs in one layer of the model, at one step.
func LayerError() Table {
	return Table{
		Name: "layer_error", Version: 1, Class: Measurement, Judged: true,
		Key: []string{"comparison_id", "step", "rank", "direction", "layer_index", "path"},
		Doc: "One row per judged step of a rank, direction and layer of the model with a measurement on both sides.",
		Columns: judgement(
			Column{Name: "direction", Type: String, Unit: None, Doc: "forward or backward."},
			Column{Name: "layer_index", Type: Int32, Unit: None, Doc: "Index of the layer; -1 outside of the layers."},
			Column{Name: "path", Type: String, Unit: None, Doc: "Path of the module that is the layer; empty where no path says it."},
			Column{Name: "paired_count", Type: Uint64, Unit: Count, Doc: "Pairs that were measured."},
			Column{Name: "differing_count", Type: Uint64, Unit: Count, Doc: "Those that make the runs differ."},
			Column{Name: "not_finite_count", Type: Uint64, Unit: Count, Doc: "Those that do so by NaN or infinity."},
			Column{Name: "greatest_error", Type: Float64, Unit: None, Nullable: true, Doc: "Greatest finite error; null when none is known."},
			Column{Name: "median_error", Type: Float64, Unit: None, Nullable: true, Doc: "Median of the finite errors, the lower one of two; null when none is known."},
			Column{Name: "greatest_site_id", Type: Uint64, Unit: Hash, Doc: "Site that has the greatest error; 0 when none is known."},
		),
	}
}
