package store

import (
	"context"
	"fmt"
	"strings"

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

// counts are how many tensors places have.
func (s *Source) counts(ctx context.Context, run *rows.Run, places []rows.Place) (map[rows.Place]int, error) {
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
	return counts, err
}
