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

// windows cuts steps, in their order, into parts that fit into memory.
func windows(steps []pair.Step, weigh func(pair.Step) uint64) [][]pair.Step {
	var parts [][]pair.Step
	begin, held := 0, uint64(0)
	for i, step := range steps {
		weight := weigh(step)
		if i > begin && held+weight > mostWindowRows {
			parts = append(parts, steps[begin:i])
			begin, held = i, 0
		}
		held += weight
	}
	if begin < len(steps) {
		parts = append(parts, steps[begin:])
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
