package watch

import (
	"context"
	"maps"

	"github.com/tensortap/tensortap/analysis/compare"
	"github.com/tensortap/tensortap/analysis/pair"
	"github.com/tensortap/tensortap/analysis/rows"
)

// leaveOut forgets, at the end, the steps of one run that the other left out for its budget or conditions: nobody waits for those.
func (w *watch) leaveOut(ctx context.Context) error {
	var lone []*step
	for _, s := range w.sorted() {
		if s.alone() {
			lone = append(lone, s)
		}
	}
	if len(lone) == 0 {
		return nil
	}
	var runs [2]*rows.Run
	for i := range w.sides {
		var err error
		if runs[i], err = w.database.Source.Run(ctx, w.sides[i].name); err != nil {
			return err
		}
	}
	offset := w.r.Compare.StepOffset
	kept, left := compare.WithoutLeftOut(placesOf(lone), runs[0], runs[1], pair.PairRanks(runs[0], runs[1]), offset)
	w.leftOut, w.order = left, nil
	waited := map[int64]bool{}
	for _, at := range kept {
		waited[int64(at.Step)] = true
	}
	maps.DeleteFunc(w.steps, func(number int64, s *step) bool { return s.alone() && !waited[number] })
	return nil
}

func placesOf(list []*step) []pair.Step {
	var places []pair.Step
	for _, s := range list {
		for _, p := range s.sorted() {
			places = append(places, p.at)
		}
	}
	return places
}
