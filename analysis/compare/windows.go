package compare

import (
	"github.com/tensortap/tensortap/analysis/pair"
	"github.com/tensortap/tensortap/analysis/rows"
)

// mostWindowRows bounds the tensors of both runs that are held at a time, about 100 bytes each, unless one step of one
// rank has more.
const mostWindowRows = 1_000_000

// openRows is how many tensors a step is taken to have that has not ended and so never told.
const openRows = 10_000

// windows cuts what is read, in its order, into parts that fit into memory.
func windows[T any](all []T, weigh func(T) uint64) [][]T {
	var parts [][]T
	begin, held := 0, uint64(0)
	for i, one := range all {
		weight := weigh(one)
		if i > begin && held+weight > mostWindowRows {
			parts = append(parts, all[begin:i])
			begin, held = i, 0
		}
		held += weight
	}
	if begin < len(all) {
		parts = append(parts, all[begin:])
	}
	return parts
}

// weights is how many tensors each place of a run has.
func weights(run *rows.Run) map[rows.Place]uint64 {
	weight := make(map[rows.Place]uint64, len(run.Steps)+len(run.Open))
	for _, place := range run.Open {
		weight[place] = openRows
	}
	for i := range run.Steps {
		weight[rows.Place{Rank: run.Steps[i].Rank, Step: run.Steps[i].Step}] = run.Steps[i].TensorCount
	}
	return weight
}

// places are those of both runs that a window takes. A step of the bench may stand beside several of the problem.
func places(window []pair.Step) (problem, bench []rows.Place) {
	asked := map[rows.Place]bool{}
	for _, s := range window {
		if s.InProblem {
			problem = append(problem, rows.Place{Rank: s.Rank, Step: s.Step})
		}
		at := rows.Place{Rank: s.BenchRank, Step: s.BenchStep}
		if s.InBench && !asked[at] {
			asked[at] = true
			bench = append(bench, at)
		}
	}
	return problem, bench
}
