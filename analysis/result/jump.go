package result

import (
	"cmp"
	"math"
	"slices"

	"github.com/tensortap/tensortap/analysis/judge"
	"github.com/tensortap/tensortap/analysis/pair"
	"github.com/tensortap/tensortap/analysis/rows"
)

// An error is a jump if it is so many times the greatest before, and so many times the tolerance.
const (
	jumpOverNoise     = 100
	jumpOverTolerance = 10
)

// mostCandidates bounds the candidates of a place. Each is a hundred times as large as those before it, so there are
// few.
const mostCandidates = 8

// candidate is a row that is a jump as far as its own place tells.
type candidate struct {
	row    judge.Judged
	at     pair.Step
	before float64 // greatest error before it in its place
}

// size is the error; NaN or infinity in one run only is more than any.
func (c *candidate) size() float64 {
	if c.row.Class == judge.NotFinite {
		return math.Inf(1)
	}
	return c.row.Error
}

// jumpSight looks for jumps row by row.
type jumpSight struct {
	at       pair.Step
	greatest float64
	found    []candidate
}

func (s *jumpSight) add(j *judge.Judged) {
	if j.Differs && len(s.found) < mostCandidates && s.isJump(j) {
		s.found = append(s.found, candidate{row: *j, at: s.at, before: s.greatest})
	}
	if off := errorOf(j); isFinite(off) {
		s.greatest = max(s.greatest, off)
	}
}

func (s *jumpSight) isJump(j *judge.Judged) bool {
	if j.Class == judge.NotFinite {
		return true
	}
	return j.Class == judge.Diverged && isFinite(j.Error) && j.Error > jumpOverTolerance*j.Tolerance && j.Error > jumpOverNoise*s.greatest
}

// findJumps finds the first jump of each rank whose first difference is a smaller error. The summary is sorted by
// step.
func (c *Collector) findJumps() []Jump {
	noise, done := map[uint32]float64{}, map[uint32]bool{}
	var jumps []Jump
	for i := range c.summary {
		s := &c.summary[i]
		if done[s.Rank] {
			continue
		}
		if jump := firstJump(c.jumps[rows.Place{Rank: s.Rank, Step: s.Step}], noise[s.Rank]); jump != nil {
			done[s.Rank] = true
			jumps = c.appendJump(jumps, c.firsts[s.Rank], s.Step, jump)
		}
		if isFinite(s.GreatestError) {
			noise[s.Rank] = max(noise[s.Rank], s.GreatestError)
		}
	}
	slices.SortStableFunc(jumps, func(a, b Jump) int {
		return cmp.Or(cmp.Compare(a.Step, b.Step), cmp.Compare(a.Own().Seq, b.Own().Seq), cmp.Compare(a.Rank, b.Rank))
	})
	return jumps
}

// firstJump is the first candidate of a place that is a jump against the noise of all steps before, too.
func firstJump(candidates []candidate, noise float64) *candidate {
	for i := range candidates {
		found := &candidates[i]
		found.before = max(found.before, noise)
		if found.size() > jumpOverNoise*found.before {
			return found
		}
	}
	return nil
}

func (c *Collector) appendJump(jumps []Jump, first *rankFirst, step uint32, jump *candidate) []Jump {
	began := &first.found.first
	itself := first.at.Step == step && began.Problem.SiteID == jump.row.Problem.SiteID && began.Problem.Seq == jump.row.Problem.Seq
	if itself || began.Class != judge.Diverged {
		return jumps
	}
	return append(jumps, Jump{Difference: *c.names.difference(jump.at, &jump.row), NoiseBefore: jump.before})
}
