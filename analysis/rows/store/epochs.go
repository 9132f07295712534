package store

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/tensortap/tensortap/analysis/rows"
	"github.com/tensortap/tensortap/schemas"
)

// observed is a step of a rank as one epoch saw it.
type observed struct {
	place rows.Place
	epoch uint64
}

// producer is an epoch of a rank.
type producer struct {
	rank  uint32
	epoch uint64
}

// epochs says which observations of a run count.
type epochs struct {
	kept     []schemas.StepRow // by rank, then step
	open     []rows.Place      // have tensors and have not ended
	replaced map[rows.Place][]uint64
}

// sortEpochs tells what counts from what was replaced, as tap.superseded_steps does. The row of a step is published
// last, so an epoch cut short before it has tensors only. It is replaced where another epoch ended the very same step,
// but not if the ranks themselves publish: their step may be running again. Epochs that are finished ended some other
// step that is not among these.
func sortEpochs(ended []schemas.StepRow, begun []observed, fromFiles bool, finished map[producer]bool) epochs {
	slices.SortFunc(ended, func(a, b schemas.StepRow) int {
		return cmp.Or(cmp.Compare(a.Rank, b.Rank), cmp.Compare(a.Step, b.Step), cmp.Compare(b.Generation, a.Generation),
			cmp.Compare(b.EventTimeNs, a.EventTimeNs), cmp.Compare(b.Epoch, a.Epoch))
	})
	e := epochs{replaced: map[rows.Place][]uint64{}}
	has := map[producer]bool{} // epochs that ended some step
	final := map[rows.Place]schemas.StepRow{}
	for _, s := range ended {
		place := rows.Place{Rank: s.Rank, Step: s.Step}
		has[producer{s.Rank, s.Epoch}] = true
		if first, again := final[place]; !again {
			final[place] = s
			e.kept = append(e.kept, s)
		} else if s.Epoch != first.Epoch {
			e.replace(place, s.Epoch)
		}
	}
	for _, o := range begun {
		end, hasEnded := final[o.place]
		by := producer{o.place.Rank, o.epoch}
		switch {
		case !hasEnded:
			e.open = append(e.open, o.place)
		case o.epoch != end.Epoch && !has[by] && !finished[by] && (end.Generation > 0 || fromFiles):
			e.replace(o.place, o.epoch)
		}
	}
	slices.SortFunc(e.open, comparePlaces)
	e.open = slices.Compact(e.open)
	return e
}

func (e epochs) replace(place rows.Place, epoch uint64) {
	if !slices.Contains(e.replaced[place], epoch) {
		e.replaced[place] = append(e.replaced[place], epoch)
	}
}

// dropped are the epochs of which every step was replaced.
func (e epochs) dropped() map[producer]bool {
	gone := map[producer]bool{}
	for place, replaced := range e.replaced {
		for _, epoch := range replaced {
			gone[producer{place.Rank, epoch}] = true
		}
	}
	for _, s := range e.kept {
		delete(gone, producer{s.Rank, s.Epoch})
	}
	return gone
}

func comparePlaces(a, b rows.Place) int {
	return cmp.Or(cmp.Compare(a.Rank, b.Rank), cmp.Compare(a.Step, b.Step))
}

// begun are the steps of those epochs that have other tensors than the ends of their steps promise: some of their
// steps may have no end. All else is known without a look at the tensors.
func (s *Source) begun(ctx context.Context, run uint64, a *asked) ([]observed, error) {
	balance := map[producer]uint64{} // wraps around below zero
	for _, b := range a.batches {
		if b.kind == tensorKind {
			balance[b.producer] += b.rows
		}
	}
	for _, step := range a.steps {
		balance[producer{step.Rank, step.Epoch}] -= step.TensorCount
	}
	maps.DeleteFunc(balance, func(_ producer, surplus uint64) bool { return surplus == 0 })
	var found []observed
	for some := range slices.Chunk(slices.Collect(maps.Keys(balance)), idsAtOnce) {
		query := fmt.Sprintf("SELECT DISTINCT rank, step, epoch FROM tap_store.tensor WHERE run_id = %d AND (rank, epoch) IN (%s)", run, producers(some))
		err := s.each(ctx, query, func(record arrow.RecordBatch) error {
			rank, step, epoch := uint32s(record, 0), uint32s(record, 1), uint64s(record, 2)
			for i := range rank {
				found = append(found, observed{rows.Place{Rank: rank[i], Step: step[i]}, epoch[i]})
			}
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("read steps without end: %w", err)
		}
	}
	return found, nil
}

func producers(of []producer) string {
	texts := make([]string, len(of))
	for i, p := range of {
		texts[i] = fmt.Sprintf("(%d, %d)", p.rank, p.epoch)
	}
	return strings.Join(texts, ", ")
}
