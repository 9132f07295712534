package msprobecompare

import (
	"math"
	"slices"

	"github.com/tensortap/tensortap/analysis/msprobe/internal/arguments"
)

// beside are the rows of both runs at a place, and which stands beside which.
type beside struct {
	problem, bench []arguments.Argument
	partners       []int32 // of each row of the problem; -1 for none
}

func pairRows(problem, bench []arguments.Argument) *beside {
	byKey := make(map[string]int32, len(bench))
	for i := range bench {
		if _, known := byKey[bench[i].Key]; !known {
			byKey[bench[i].Key] = int32(i) //nolint:gosec // a place has far fewer rows
		}
	}
	b := &beside{problem: problem, bench: bench, partners: make([]int32, len(problem))}
	for i := range problem {
		partner, found := byKey[problem[i].Key]
		if !found || !sameSort(problem[i].Dtype, bench[partner].Dtype) {
			partner = -1
		}
		b.partners[i] = partner
	}
	return b
}

// partner of a row of the problem is nil where it has none.
func (b *beside) partner(i int) *arguments.Argument {
	if at := b.partners[i]; at >= 0 {
		return &b.bench[at]
	}
	return nil
}

// sameSort says whether dtypes go together: if they are one, or both of floating-point numbers of one framework.
func sameSort(problem, bench string) bool {
	if problem == bench {
		return true
	}
	for _, floats := range [][]string{
		{"torch.float16", "torch.float32", "torch.float64", "torch.bfloat16"},
		{"Float16", "Float32", "Float64", "BFloat16"},
	} {
		if slices.Contains(floats, problem) && slices.Contains(floats, bench) {
			return true
		}
	}
	return false
}

// errorOf is the difference of a statistic of two rows, and the relative one. Either is unknown where msProbe says N/A or
// Diff; against zero the relative one is infinite.
func errorOf(problem, bench *arguments.Argument, statistic int) (difference, relative Number) {
	if bench == nil {
		return Number{}, Number{}
	}
	p, b := problem.Statistics[statistic], bench.Statistics[statistic]
	switch {
	case samePrinted(problem, bench, statistic):
		return Number{Known: true}, Number{Known: true}
	case problem.Dtype == "torch.bool":
		return Number{}, Number{}
	}
	difference = Number{Value: p.Value - b.Value, Known: p.Known && b.Known}
	switch {
	case p.Known && !isFinite(p.Value), b.Known && !isFinite(b.Value):
		return difference, difference
	case b.Known && b.Value == 0:
		return difference, Number{Value: math.Inf(1), Known: true}
	}
	return difference, Number{Value: math.Abs(difference.Value/b.Value*100) / 100, Known: difference.Known}
}

// samePrinted says whether Python prints the same of a statistic of both.
func samePrinted(problem, bench *arguments.Argument, statistic int) bool {
	if problem.Value != "" || bench.Value != "" {
		return problem.Value == bench.Value
	}
	p, b := problem.Statistics[statistic], bench.Statistics[statistic]
	if !p.Known || !b.Known {
		return p.Known == b.Known
	}
	return math.Float64bits(p.Value) == math.Float64bits(b.Value) || math.IsNaN(p.Value) && math.IsNaN(b.Value)
}

func isFinite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }
