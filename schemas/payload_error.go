package schemas

// PayloadError is the distance of two raw tensors, element by element.
func PayloadError() Table {
	return Table{
		Name: "payload_error", Version: 1, Class: Definition,
		Key: []string{"problem_run_id", "bench_run_id", "rank", "step", "problem_site_id", "bench_site_id"},
		Doc: "One row per pair of raw tensors that were read and compared element by element.",
		Columns: []Column{
			{Name: "problem_run_id", Type: Uint64, Unit: Hash, Doc: "Run under suspicion, as the hash of its name."},
			{Name: "bench_run_id", Type: Uint64, Unit: Hash, Doc: "The bench, as the hash of its name."},
			{Name: "rank", Type: Uint32, Unit: Ordinal, Doc: "Rank of the problem."},
			{Name: "step", Type: Uint32, Unit: Ordinal, Doc: "Step of the problem."},
			{Name: "problem_site_id", Type: Uint64, Unit: Hash, Doc: "Which tensor of the problem (site)."},
			{Name: "bench_site_id", Type: Uint64, Unit: Hash, Doc: "Which tensor of the bench (site)."},
			{Name: "element_count", Type: Uint64, Unit: Count, Doc: "Elements that were compared; 0 when they could not be."},
			{Name: "same_bits", Type: Uint8, Unit: None, Doc: "1 when every element is the same, bit by bit."},
			{Name: "cosine", Type: Float64, Unit: None, Nullable: true, Doc: "Cosine of the angle between both, as vectors; null when not defined."},
			{Name: "relative_l2", Type: Float64, Unit: None, Nullable: true, Doc: "L2 norm of the difference, divided by the L2 norm of the bench; infinite when only the bench is zero; null when not compared."},
			{Name: "l2_distance", Type: Float64, Unit: None, Nullable: true, Doc: "L2 norm of the difference; null when not compared."},
			{Name: "max_absolute", Type: Float64, Unit: None, Nullable: true, Doc: "Greatest absolute difference of two elements; null when not compared."},
			{Name: "max_relative", Type: Float64, Unit: None, Nullable: true, Doc: "Greatest difference of two elements by the bench's; null when not compared."},
			{Name: "thousandth_ratio", Type: Float64, Unit: None, Nullable: true, Doc: "Share of elements with a relative error below 0.001; null when not compared."},
			{Name: "five_thousandth_ratio", Type: Float64, Unit: None, Nullable: true, Doc: "Share of elements with a relative error below 0.005; null when not compared."},
			{Name: "message", Type: String, Unit: None, Doc: "Why something could not be compared; empty when all was."},
		},
	}
}
