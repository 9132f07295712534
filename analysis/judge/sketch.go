package judge

import "math"

// normalQuantile bounds 95 % of a normal distribution.
const normalQuantile = 1.96

// sketch is the relative error that two sketches of equal size estimate, with its 95 % interval.
type sketch struct {
	both             bool
	error, low, high float64 // NaN where not both have one
}

// sketchOf estimates the error. The square of an estimate by k buckets is distributed as chi-square with k degrees;
// Wilson and Hilferty give its quantiles at 2.5 and 97.5 %.
func sketchOf(problem, bench []float32, scale float64) sketch {
	if len(problem) == 0 || len(problem) != len(bench) {
		return sketch{error: math.NaN(), low: math.NaN(), high: math.NaN()}
	}
	estimate := relative(sketchDistance(problem, bench), scale)
	term := 2 / float64(9*len(problem))
	spread := float64(normalQuantile * math.Sqrt(term))
	return sketch{both: true, error: estimate, low: estimate / cubedRoot(1-term+spread), high: estimate / cubedRoot(1-term-spread)}
}

// cubedRoot is the square root of the cube.
func cubedRoot(x float64) float64 { return math.Sqrt(x * x * x) }

func sketchDistance(problem, bench []float32) float64 {
	sum := 0.
	for i, x := range problem {
		d := float64(x) - float64(bench[i])
		sum += float64(d * d)
	}
	return math.Sqrt(sum)
}

// relative is 0 where nothing differs, whatever the scale.
func relative(distance, scale float64) float64 {
	switch {
	case distance == 0:
		return 0
	case scale == 0:
		return math.Inf(1)
	default:
		return distance / scale
	}
}
