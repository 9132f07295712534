package pair

import (
	"fmt"

	"github.com/tensortap/tensortap/analysis/rows"
	"github.com/tensortap/tensortap/schemas"
)

// trainedMoves gives the bench's step with the same phase, and the same number of the trainer's own steps before it, as a
// step of the problem: evaluations count as steps of a rank, and runs may evaluate at other times. Of several such steps,
// the first pairs with the first.
func trainedMoves(problem, bench *rows.Run, ranks []Ranks) moves {
	p, b := trainedBy(problem.Steps), trainedBy(bench.Steps)
	if found, moved := between(p, b, ranks); moved || standBeside(p, b, ranks) {
		return found
	}
	return moves{}
}

// trainedBy is the contents by what trainers say. Steps of which they say nothing are left out.
func trainedBy(steps []schemas.StepRow) contents {
	found := newContents()
	for i := range steps {
		if s := &steps[i]; s.GlobalStep != nil {
			found.add(rows.Place{Rank: s.Rank, Step: s.Step}, fmt.Sprintf("%s %d", s.Phase, *s.GlobalStep))
		}
	}
	return found
}

// standBeside says whether steps of other contents have the same number.
func standBeside(problem, bench contents, ranks []Ranks) bool {
	for _, pair := range ranks {
		known := map[uint32]bool{}
		for _, step := range bench.steps[pair.Bench] {
			known[step] = true
		}
		for what, step := range problem.steps[pair.Problem] {
			if _, ok := bench.steps[pair.Bench][what]; !ok && known[step] {
				return true
			}
		}
	}
	return false
}
