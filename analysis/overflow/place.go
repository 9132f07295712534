package overflow

import (
	"cmp"
	"maps"
	"slices"

	"github.com/tensortap/tensortap/analysis/rows"
	"github.com/tensortap/tensortap/schemas"
)

// telling are the statistics that NaN or infinity would show in.
const telling = schemas.MeasuredMin | schemas.MeasuredMax |
	schemas.MeasuredNaN | schemas.MeasuredPositiveInfinity | schemas.MeasuredNegativeInfinity

// count adds one place to what is known of its rank.
func (j *job) count(at rows.Place, tensors *rows.Tensors) {
	rank := j.ranks[at.Rank]
	if rank == nil {
		rank = &Rank{Rank: at.Rank}
		j.ranks[at.Rank] = rank
	}
	rank.Steps++
	rank.Rows += uint64(tensors.Len()) //nolint:gosec // never negative
	var suspects []suspect
	for i := range tensors.Len() {
		row := tensors.At(i)
		if row.Measured&telling != 0 {
			rank.Measured++
		}
		if !row.Finite() {
			suspects = append(suspects, j.suspect(row))
		}
	}
	followMasks(suspects)
	for i := range suspects {
		rank.add(at, &suspects[i])
	}
}

// add counts a tensor that is not finite.
func (r *Rank) add(at rows.Place, s *suspect) {
	if s.excused {
		r.Excused++
		return
	}
	r.NotFinite++
	if !r.first.found || before(at, &s.Observation, &r.first) {
		r.first = first{found: true, at: at, row: s.Observation}
	}
}

// before says whether a tensor of a rank comes before the first one that is known.
func before(at rows.Place, row *rows.Observation, known *first) bool {
	return cmp.Or(cmp.Compare(at.Step, known.at.Step), cmp.Compare(row.Seq, known.row.Seq), cmp.Compare(row.MicroStep, known.row.MicroStep)) < 0
}

// sorted are the ranks by their numbers.
func (j *job) sorted() []Rank {
	var ranks []Rank
	for _, number := range slices.Sorted(maps.Keys(j.ranks)) {
		ranks = append(ranks, *j.ranks[number])
	}
	return ranks
}
