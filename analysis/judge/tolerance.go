package judge

import (
	"math"

	"github.com/tensortap/tensortap/schemas"
)

const (
	roundoffsPerLayer = 4  // of the square root of the depth
	usualLayers       = 32 // of a program without any
	sumsInOwnDtype    = 1e-6
)

// BandRuns is the number of benches that make a band.
const BandRuns = 3

// ToleranceRule tolerates errors up to a number where op and dtype fit. In both, * stands for any text.
type ToleranceRule struct {
	Op        string // name of the op, or path of its module
	Dtype     string // of the bench's tensor
	Tolerance float64
}

type toleranceRule struct {
	op, dtype pattern
	tolerance float64
}

func readTolerances(written []ToleranceRule) []toleranceRule {
	read := make([]toleranceRule, len(written))
	for i, w := range written {
		read[i] = toleranceRule{op: newPattern(w.Op), dtype: newPattern(w.Dtype), tolerance: w.Tolerance}
	}
	return read
}

// tolerated is the greatest relative error that a pair may have; 0 for whole numbers. In this order: the spread of
// several benches, the rules of a file, one number, dtype and depth, which a calibration widens.
func (r *Rules) tolerated(bench uint64, site *siteRule, layouts *layoutPair) float64 {
	if layouts.roundoff == 0 {
		return 0
	}
	// A tensor of float32 that was computed from bfloat16 is no better than that.
	unit := max(layouts.roundoff, r.mainRoundoff)
	byDepth := toleratedByDepth(site.depth, unit)
	if band := r.config.Spread[bench]; band.Runs >= BandRuns {
		return greater(band.tolerated(), byDepth) // more benches are never stricter than one
	}
	for i := range site.tolerances {
		if site.tolerances[i].dtype.fits(layouts.benchDtype) {
			return site.tolerances[i].tolerance
		}
	}
	if r.config.Tolerance >= 0 {
		return r.config.Tolerance
	}
	return max(byDepth, r.config.Calibrated[bench])
}

// toleratedByDepth is 4 u sqrt(depth), and four times that for float32 and float64: they are summed in their own
// precision, dtypes of 16 bits and less in float32. Eager against fused attention stays below half of it.
func toleratedByDepth(depth int32, unit float64) float64 {
	tolerated := roundoffsPerLayer * math.Sqrt(float64(depth)) * unit
	if unit < sumsInOwnDtype {
		return tolerated * 4
	}
	return tolerated
}

// depth is the number of layers that an error of the op may have come through: the index of its layer from 1, in
// backward plus the number of layers behind it; outside of layers it is the number of layers.
func depth(layer, layers int32, phase string) int32 {
	switch {
	case layer < 0:
		return layers
	case goesBack(phase):
		return 2*layers - layer
	default:
		return layer + 1
	}
}

func goesBack(phase string) bool {
	switch phase {
	case schemas.PhaseBackward, schemas.PhaseGradient, schemas.PhaseOptimizer:
		return true
	}
	return false
}
