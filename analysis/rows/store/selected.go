package store

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"
	"golang.org/x/sync/errgroup"

	"github.com/tensortap/tensortap/analysis/rows"
)

// Selected gives of each place the wanted tensors alone, and how many it has in all. Places without any are absent.
func (s *Source) Selected(ctx context.Context, run *rows.Run, places []rows.Place, wanted rows.Wanted) (map[rows.Place]*rows.Tensors, error) {
	if len(places) == 0 {
		return map[rows.Place]*rows.Tensors{}, nil
	}
	w, counts := newWindow(run, places), map[rows.Place]int{}
	clear(w.expected) // few of those that a step has
	group, asking := errgroup.WithContext(ctx)
	group.Go(func() error { return s.each(asking, question(run, places)+condition(wanted), w.add) })
	group.Go(func() (err error) {
		counts, err = s.counts(asking, run, places)
		return err
	})
	if err := group.Wait(); err != nil {
		return nil, fmt.Errorf("read tensors of run %s: %w", run.Name, err)
	}
	found := w.ordered()
	for place, count := range counts {
		if found[place] == nil {
			found[place] = &rows.Tensors{}
		}
		found[place].Recorded = count
	}
	return found, nil
}

// condition holds for the rows that are wanted.
func condition(wanted rows.Wanted) string {
	if wanted.Sites != nil {
		if len(wanted.Sites) == 0 {
			return " AND false"
		}
		return " AND site_id IN (" + list(wanted.Sites) + ")"
	}
	return fmt.Sprintf(" AND seq >= %d AND seq < %d", wanted.FirstSeq, wanted.EndSeq)
}

// counts are how many tensors places have; those without any are absent.
func (s *Source) counts(ctx context.Context, run *rows.Run, places []rows.Place) (map[rows.Place]int, error) {
	if counts, known := s.lengths.of(run, places); known {
		return counts, nil
	}
	_, from, _ := strings.Cut(question(run, places), " FROM ")
	counts, asked := map[rows.Place]int{}, map[rows.Place]bool{}
	for _, place := range places {
		asked[place] = true
	}
	err := s.each(ctx, "SELECT rank, step, count() FROM "+from+" GROUP BY rank, step", func(record arrow.RecordBatch) error {
		rank, step, count := uint32s(record, 0), uint32s(record, 1), uint64s(record, 2)
		for i := range rank {
			if place := (rows.Place{Rank: rank[i], Step: step[i]}); asked[place] {
				counts[place] = int(count[i]) //nolint:gosec // rows of a step
			}
		}
		return nil
	})
	if err == nil {
		s.lengths.keep(run, counts)
	}
	return counts, err
}

// mostCounted bounds of how many places a source remembers the number of tensors.
const mostCounted = 10_000

// lengths has how many tensors places of runs have, as these were when they were read: who explains one op after the other
// asks of the same places, and to count takes as long as to read the tensors of an op.
type lengths struct {
	mutex  sync.Mutex
	places map[countedPlace]int
}

type countedPlace struct {
	run   *rows.Run
	place rows.Place
}

// of says whether it knows all these places.
func (l *lengths) of(run *rows.Run, places []rows.Place) (counts map[rows.Place]int, known bool) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	counts = make(map[rows.Place]int, len(places))
	for _, place := range places {
		if counts[place], known = l.places[countedPlace{run, place}]; !known {
			return nil, false
		}
	}
	return counts, true
}

func (l *lengths) keep(run *rows.Run, counts map[rows.Place]int) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.places == nil || len(l.places)+len(counts) > mostCounted {
		l.places = map[countedPlace]int{}
	}
	for place, count := range counts {
		l.places[countedPlace{run, place}] = count
	}
}
