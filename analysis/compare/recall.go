package compare

import (
	"context"
	"slices"

	"github.com/tensortap/tensortap/analysis/judge"
	"github.com/tensortap/tensortap/analysis/pair"
	"github.com/tensortap/tensortap/analysis/result"
	"github.com/tensortap/tensortap/analysis/rows"
)

// Recalled are results of steps of a job that were judged before. The zero value has none.
type Recalled struct {
	Places []result.Known // in the order of Job.Steps
	// Verdicts are those of some places that do not agree.
	Verdicts func(ctx context.Context, places []result.Known) (map[rows.Place][]judge.Judged, error)
}

// What is read at a time: so many verdicts, unless a single place has more, of so many places, which a query names.
const (
	rowsAtOnce   = 10_000
	placesAtOnce = 1_000
)

// others are the steps that are not among the recalled places.
func (r *Recalled) others(steps []pair.Step) []pair.Step {
	if len(r.Places) == 0 {
		return steps
	}
	recalled := make(map[rows.Place]bool, len(r.Places))
	for i := range r.Places {
		recalled[placeOf(r.Places[i].At)] = true
	}
	return slices.DeleteFunc(slices.Clone(steps), func(s pair.Step) bool { return recalled[placeOf(s)] })
}

func placeOf(at pair.Step) rows.Place { return rows.Place{Rank: at.Rank, Step: at.Step} }

// again takes the places out that must be judged again.
func (r *Recalled) again(collected *result.Collector) []pair.Step {
	var steps []pair.Step
	var left []result.Known
	for i, again := range collected.Again(r.Places) {
		if again {
			steps = append(steps, r.Places[i].At)
		} else {
			left = append(left, r.Places[i])
		}
	}
	r.Places = left
	return steps
}

// collect has the results of the places collected, and reads those of their verdicts that may be shown.
func (r *Recalled) collect(ctx context.Context, collected *result.Collector) error {
	for places := r.Places; len(places) > 0; {
		count, shown := next(places, collected)
		var verdicts map[rows.Place][]judge.Judged
		if len(shown) > 0 {
			var err error
			if verdicts, err = r.Verdicts(ctx, shown); err != nil {
				return err
			}
		}
		for i := range places[:count] {
			collected.Recall(&places[i], verdicts[placeOf(places[i].At)])
		}
		places = places[count:]
	}
	return nil
}

// next counts the places that are collected next. Verdicts of some of them may be shown.
func next(places []result.Known, collected *result.Collector) (count int, shown []result.Known) {
	var total uint64
	for ; count < len(places) && len(shown) < placesAtOnce; count++ {
		place := &places[count]
		if !collected.Shows(place) {
			continue
		}
		if total += place.Rows(); len(shown) > 0 && total > rowsAtOnce {
			break
		}
		shown = append(shown, *place)
	}
	return count, shown
}
