package judge

import "strings"

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
		return 0.125
	case strings.Contains(dtype, "float8"):
		return 0.0625
	case strings.Contains(dtype, "bfloat16"):
		return 0.00390625
	case has("float16", "half"):
		return 0.00048828125
	case has("float64", "double", "complex128"):
		return 1.1102230246251565e-16
	case has("float", "complex"):
		return 5.960464477539063e-8
	default:
		return 0
	}
}
