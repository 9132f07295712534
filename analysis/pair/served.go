package pair

import (
	"encoding/binary"

	"github.com/tensortap/tensortap/analysis/rows"
	"github.com/tensortap/tensortap/schemas"
)

// moves are the steps that pair by what they are, in both directions: those of inference engines by their requests, those
// of trainers by what these count. They are empty where numbers pair the same steps.
type moves struct {
	toBench   map[rows.Place]uint32 // from a step of the problem
	toProblem map[rows.Place]uint32 // from a step of the bench, at the rank of the problem
}

func (m *moves) empty() bool { return len(m.toBench) == 0 }

// servedMoves gives the bench's step with the same requests as a step of the problem: the prompts' hashes, first
// positions and numbers of tokens, in the order of the batch. Of several such steps, the first pairs with the first.
func servedMoves(problem, bench *rows.Run, ranks []Ranks) moves {
	if len(problem.Requests) == 0 || len(bench.Requests) == 0 {
		return moves{}
	}
	if found, moved := between(servedBy(problem.Requests), servedBy(bench.Requests), ranks); moved {
		return found
	}
	return moves{}
}

// between pairs steps of equal contents, and says whether any has another number than its partner.
func between(problem, bench contents, ranks []Ranks) (found moves, moved bool) {
	found = moves{toBench: map[rows.Place]uint32{}, toProblem: map[rows.Place]uint32{}}
	for _, pair := range ranks {
		for what, step := range problem.steps[pair.Problem] {
			partner, ok := bench.steps[pair.Bench][what]
			if !ok {
				continue
			}
			found.toBench[rows.Place{Rank: pair.Problem, Step: step}] = partner
			found.toProblem[rows.Place{Rank: pair.Problem, Step: partner}] = step
			moved = moved || step != partner
		}
	}
	return found, moved
}

// occurrence is the content of a rank's step; the number separates steps of equal content.
type occurrence struct {
	content string
	number  int
}

// contents are the steps of each rank, by their contents.
type contents struct {
	steps map[uint32]map[occurrence]uint32
	times map[uint32]map[string]int
}

func newContents() contents {
	return contents{steps: map[uint32]map[occurrence]uint32{}, times: map[uint32]map[string]int{}}
}

// add adds a step behind those before it.
func (c contents) add(at rows.Place, content string) {
	if c.steps[at.Rank] == nil {
		c.steps[at.Rank], c.times[at.Rank] = map[occurrence]uint32{}, map[string]int{}
	}
	c.steps[at.Rank][occurrence{content, c.times[at.Rank][content]}] = at.Step
	c.times[at.Rank][content]++
}

// servedBy is the contents by requests. Steps with an unknown request are left out.
func servedBy(requests []schemas.RequestRow) contents {
	found := newContents()
	for len(requests) > 0 {
		n := sameStep(requests)
		at := rows.Place{Rank: requests[0].Rank, Step: requests[0].Step}
		if content, known := contentOf(requests[:n]); known {
			found.add(at, content)
		}
		requests = requests[n:]
	}
	return found
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
