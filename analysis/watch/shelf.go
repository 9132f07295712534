package watch

import (
	"cmp"
	"context"
	"slices"

	"github.com/tensortap/tensortap/analysis/rows"
	"github.com/tensortap/tensortap/analysis/rows/store"
)

// rowsAhead is the number of tensors of later steps that are read ahead: a run that has ended is read a few times,
// however slowly the other one grows.
const rowsAhead = 100_000

// mostHeld bounds the tensors of one run that are held.
const mostHeld = 1_000_000

// shelf holds tensors of a run that will be judged again, or soon.
type shelf struct {
	source rows.Source
	run    *store.Followed
	held   map[rows.Place]held
	last   uint32 // step that was read
}

// held are the tensors of a place that stood so.
type held struct {
	standing store.Standing
	tensors  *rows.Tensors
}

func newShelf(source rows.Source, run *store.Followed) *shelf {
	return &shelf{source: source, run: run, held: map[rows.Place]held{}}
}

// take gives the tensors of places as they stand now. Those that are not held are read.
func (s *shelf) take(ctx context.Context, places []rows.Place) (map[rows.Place]*rows.Tensors, error) {
	var missing []rows.Place
	for _, at := range places {
		if h, found := s.held[at]; !found || h.standing != s.run.Standing[at] {
			missing = append(missing, at)
		}
	}
	if err := s.read(ctx, missing); err != nil {
		return nil, err
	}
	found := make(map[rows.Place]*rows.Tensors, len(places))
	for _, at := range places {
		if tensors := s.held[at].tensors; tensors != nil {
			found[at] = tensors
		}
	}
	s.bound()
	return found, nil
}

func (s *shelf) read(ctx context.Context, places []rows.Place) error {
	if len(places) == 0 {
		return nil
	}
	places = append(places, s.following(places)...)
	read, err := s.source.Tensors(ctx, s.run.Run, places)
	if err != nil {
		return err
	}
	for _, at := range places {
		s.held[at] = held{s.run.Standing[at], read[at]}
	}
	return nil
}

// following are whole places of steps after those and after all that were read before, as many as are read ahead.
func (s *shelf) following(places []rows.Place) []rows.Place {
	for _, at := range places {
		s.last = max(s.last, at.Step)
	}
	var ahead []rows.Place
	for i := range s.run.Run.Steps {
		at := rows.Place{Rank: s.run.Run.Steps[i].Rank, Step: s.run.Run.Steps[i].Step}
		if at.Step > s.last && lacks(s.run.Standing[at]) == "" {
			ahead = append(ahead, at)
		}
	}
	slices.SortFunc(ahead, func(a, b rows.Place) int { return cmp.Or(cmp.Compare(a.Step, b.Step), cmp.Compare(a.Rank, b.Rank)) })
	count := uint64(0)
	for i, at := range ahead {
		count += s.run.Standing[at].Rows
		if count > rowsAhead {
			ahead = ahead[:i]
			break
		}
	}
	if len(ahead) > 0 {
		s.last = ahead[len(ahead)-1].Step
	}
	return ahead
}

func (s *shelf) drop(at rows.Place) { delete(s.held, at) }

// bound lets go of everything when it is too much.
func (s *shelf) bound() {
	total := 0
	for _, h := range s.held {
		total += h.tensors.Len()
	}
	if total > mostHeld {
		clear(s.held)
	}
}
