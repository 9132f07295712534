package schemas

// Bits of tensor.measured: which statistics of a row were measured. An
// unmeasured one is 0 in the table and null in the views.
const (
	MeasuredMin uint32 = 1 << iota
	MeasuredMax
	MeasuredMean
	MeasuredM2
	MeasuredL2
	MeasuredL1
	MeasuredNaN
	MeasuredPositiveInfinity
	MeasuredNegativeInfinity
	MeasuredZero
	MeasuredSubnormal
)

// Bits of tensor.measured that say why a tensor of merged ranks is no whole.
const (
	MergedDifferentValues  uint32 = 1 << (16 + iota) // ranks hold different values, as before an all-reduce
	MergedFollowsFromRanks                           // an argument that follows from the number of ranks
	MergedNoWhole                                    // the parts do not make a whole
	MergedStillAddedUp                               // a result that was still being added up when it was given
)

// Kinds of tensor.digest.
const (
	DigestNone  uint8 = 0
	DigestCRC32 uint8 = 1 // msProbe's md5 mode: zlib CRC-32 of the raw bytes
	DigestXOR   uint8 = 2 // msProbe's xor mode: blind to the order of elements
	DigestTap   uint8 = 3 // ours, order-aware
)

// Tensor is the hot table: one row per tensor, or other argument, of an op.
func Tensor() Table {
	return Table{
		Name: "tensor", Version: 1, Class: Measurement, PartitionByDay: true,
		Key: []string{"run_id", "site_id", "rank", "step"},
		Doc: "One row per tensor, or other argument, that an op took or returned: its statistics, digest and sketch.",
		Columns: measurement(
			Column{Name: "step", Type: Uint32, Unit: Ordinal, Doc: "Step of the rank."},
			Column{Name: "micro_step", Type: Uint16, Unit: Ordinal, Doc: "Micro step within the step; 0 when there is one."},
			Column{Name: "seq", Type: Uint64, Unit: Ordinal, Doc: "The rank's own order of observation within the epoch."},
			Column{Name: "site_id", Type: Uint64, Unit: Hash, Doc: "The tensor of the op (site)."},
			Column{Name: "layout_id", Type: Uint64, Unit: Hash, Doc: "Description of the tensor: dtype, shape and so on, or the literal (layout)."},
			Column{Name: "measured", Type: Uint32, Unit: Bits, Doc: "Which statistics were measured; an unmeasured one is 0 here and null in the views. From bit 16 on: why a tensor of merged ranks is no whole."},
			Column{Name: "element_count", Type: Uint64, Unit: Count, Doc: "Elements of the tensor; 0 for an empty one and for other arguments."},
			Column{Name: "value_min", Type: Float64, Unit: Value, Doc: "Least element; finite ones only, unless the source reports otherwise (run.source)."},
			Column{Name: "value_max", Type: Float64, Unit: Value, Doc: "Greatest element, as value_min."},
			Column{Name: "value_mean", Type: Float64, Unit: Value, Doc: "Mean of the elements, as value_min."},
			Column{Name: "value_m2", Type: Float64, Unit: Value, Doc: "Sum of squared deviations from the mean."},
			Column{Name: "value_l2", Type: Float64, Unit: Value, Doc: "Square root of the sum of squares."},
			Column{Name: "value_l1", Type: Float64, Unit: Value, Doc: "Sum of absolute values."},
			Column{Name: "nan_count", Type: Uint64, Unit: Count, Doc: "Elements that are not a number."},
			Column{Name: "positive_infinity_count", Type: Uint64, Unit: Count, Doc: "Elements that are +Inf."},
			Column{Name: "negative_infinity_count", Type: Uint64, Unit: Count, Doc: "Elements that are -Inf."},
			Column{Name: "zero_count", Type: Uint64, Unit: Count, Doc: "Elements that are 0 or -0."},
			Column{Name: "subnormal_count", Type: Uint64, Unit: Count, Doc: "Elements too small for a normal number of their dtype."},
			Column{Name: "digest", Type: Uint64, Unit: Hash, Doc: "Hash of the elements' bytes, by digest_kind; 0 when not taken."},
			Column{Name: "digest_kind", Type: Uint8, Unit: None, Doc: "0 none, 1 CRC-32 (msProbe md5), 2 xor (blind to order), 3 ours."},
			Column{Name: "sketch", Type: Float32s, Unit: None, Doc: "Random-sign bucket sums of the elements; empty when not taken."},
		),
	}
}
