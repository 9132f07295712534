package pair

import (
	"encoding/binary"

	"github.com/tensortap/tensortap/analysis/rows"
	"github.com/tensortap/tensortap/schemas"
)

// moves are the steps of inference engines that pair by their requests, in both directions; empty where numbers pair
// the same steps.
type moves struct {
	toBench   map[rows.Place]uint32 // from a step of the problem
	toProblem map[rows.Place]uint32 // from a step of the bench, at the rank of the problem
}

func (m *moves) empty() bool { return len(m.toBench) == 0 }

// servedMoves gives the bench's step with the same requests as a step of the problem: the prompts' hashes, first
// positions and numbers of tokens, in the order of the batch. Of several such steps, the first pairs with the first.
func servedMoves(problem, bench *rows.Run, ranks []Ranks) moves {
	found := moves{toBench: map[rows.Place]uint32{}, toProblem: map[rows.Place]uint32{}}
	if len(problem.Requests) == 0 || len(bench.Requests) == 0 {
		return found
	}
	p, b := servedBy(problem.Requests), servedBy(bench.Requests)
	moved := false
	for _, pair := range ranks {
		for content, step := range p[pair.Problem] {
			partner, ok := b[pair.Bench][content]
			if !ok {
				continue
			}
			found.toBench[rows.Place{Rank: pair.Problem, Step: step}] = partner
			found.toProblem[rows.Place{Rank: pair.Problem, Step: partner}] = step
			moved = moved || step != partner
		}
	}
	if !moved {
		return moves{}
	}
	return found
}

// served is the content of a rank's step; the occurrence separates steps of equal content.
type served struct {
	content    string
	occurrence int
}

// servedBy is the step of each content, by rank. Steps with an unknown request are left out.
func servedBy(requests []schemas.RequestRow) map[uint32]map[served]uint32 {
	steps := map[uint32]map[served]uint32{}
	times := map[uint32]map[string]int{}
	for len(requests) > 0 {
		n := sameStep(requests)
		rank, step := requests[0].Rank, requests[0].Step
		content, known := contentOf(requests[:n])
		requests = requests[n:]
		if !known {
			continue
		}
		if steps[rank] == nil {
			steps[rank], times[rank] = map[served]uint32{}, map[string]int{}
		}
		steps[rank][served{content, times[rank][content]}] = step
		times[rank][content]++
	}
	return steps
}

// sameStep counts the first requests that belong to one step.
func sameStep(requests []schemas.RequestRow) int {
	n := 1
	for n < len(requests) && requests[n].Rank == requests[0].Rank && requests[n].Step == requests[0].Step {
		n++
	}
	return n
}

func contentOf(requests []schemas.RequestRow) (content string, known bool) {
	bytes := make([]byte, 0, 24*len(requests))
	for i := range requests {
		r := &requests[i]
		if r.PromptHash == 0 || r.FirstPosition == nil {
			return "", false
		}
		for _, number := range []uint64{r.PromptHash, *r.FirstPosition, r.TokenCount} {
			bytes = binary.LittleEndian.AppendUint64(bytes, number)
		}
	}
	return string(bytes), true
}
