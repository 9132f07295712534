package judge

import (
	"strings"

	"github.com/tensortap/tensortap/schemas"
)

// Unit round-offs of dtypes.
const (
	roundoffFloat8E5M2 = 0x1p-3
	roundoffFloat8     = 0x1p-4
	roundoffBfloat16   = 0x1p-8
	roundoffFloat16    = 0x1p-11
	roundoffFloat32    = 0x1p-24
	roundoffFloat64    = 0x1p-53
)

// roundoff is the unit round-off of a dtype, by its name; 0 for whole numbers. Names of torch and of MindSpore occur.
func roundoff(dtype string) float64 {
	lower := strings.ToLower(dtype)
	has := func(parts ...string) bool {
		for _, part := range parts {
			if strings.Contains(lower, part) {
				return true
			}
		}
		return false
	}
	switch {
	case strings.Contains(dtype, "float8_e5m2"):
		return roundoffFloat8E5M2
	case strings.Contains(dtype, "float8"):
		return roundoffFloat8
	case strings.Contains(dtype, "bfloat16"):
		return roundoffBfloat16
	case has("float16", "half"):
		return roundoffFloat16
	case has("float64", "double", "complex128"):
		return roundoffFloat64
	case has("float", "complex"):
		return roundoffFloat32
	default:
		return 0
	}
}

// unreported are the statistics of a tensor that msProbe 26.2 leaves out because of its dtype: the other side may have them.
func unreported(source string, l *schemas.LayoutRow) uint32 {
	if source != schemas.SourceMsprobe || l == nil || l.Kind != kindTensor {
		return 0
	}
	switch of := roundoff(l.Dtype); {
	case strings.Contains(l.Dtype, "float8"):
		return boundingStatistics
	case strings.Contains(l.Dtype, "complex"):
		return schemas.MeasuredL2
	case of == 0 || of == roundoffFloat64:
		return schemas.MeasuredMean | schemas.MeasuredL2
	}
	return 0
}

// sumRoundoff is the unit round-off with which a source sums the statistics of a tensor, from the tensor's own.
// msProbe sums in the tensor's dtype. Our collector converts to float32 or better: it sums blocks in float32, and
// these in float64. SGLang's dumps are summed in float64. For any other source the tensor's dtype counts.
func sumRoundoff(source string, own float64) float64 {
	switch source {
	case schemas.SourceCollector:
		return min(own, roundoffFloat32)
	case schemas.SourceSGLangDumper:
		return min(own, roundoffFloat64)
	default:
		return own
	}
}
