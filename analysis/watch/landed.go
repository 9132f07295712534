package watch

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/tensortap/tensortap/analysis/report"
	"github.com/tensortap/tensortap/analysis/result"
	"github.com/tensortap/tensortap/analysis/rows"
)

// found is the first difference at a place, as far as it was judged.
type found struct {
	place *place
	first *result.FirstDifference
	in    sight
}

// spot is the place of a divergence.
type spot struct {
	step int64
	seq  uint64
	rank uint32
}

func (s spot) compare(o spot) int {
	return cmp.Or(cmp.Compare(s.step, o.step), cmp.Compare(s.seq, o.seq), cmp.Compare(s.rank, o.rank))
}

func (f *found) spot() spot { return spot{int64(f.place.at.Step), f.first.Own().Seq, f.place.at.Rank} }

// judgeLanded looks for a divergence in the landed rows of steps, whole or not. After the first one, later steps can
// wait until they are whole. So do steps under a map.
func (w *watch) judgeLanded(ctx context.Context) error {
	if w.referee.request.Map != nil {
		return nil
	}
	var dirty []*step
	var places []*place
	for _, s := range w.sorted() {
		if !s.dirty {
			continue
		}
		dirty = append(dirty, s)
		for _, p := range s.sorted() {
			if p.dirty && p.paired() && (w.first == nil || s.number <= w.first.step) {
				places = append(places, p)
			}
		}
	}
	for _, some := range rows.Windows(places, (*place).rows) {
		if w.first != nil && (w.r.UntilDiverged || int64(some[0].at.Step) > w.first.step) {
			break
		}
		if err := w.judge(ctx, some, w.referee.sure); err != nil {
			return err
		}
	}
	for _, s := range dirty {
		s.dirty = false
	}
	return nil
}

// judgeWhole reports steps that both runs have whole, or that got no rows for long.
func (w *watch) judgeWhole(ctx context.Context) error {
	for _, some := range rows.Windows(w.whole(), (*step).rows) {
		judged, err := w.judgeSteps(ctx, some)
		if err != nil {
			return err
		}
		for _, s := range judged {
			if err := w.sayStep(s); err != nil {
				return err
			}
		}
	}
	return nil
}

// judgeSteps judges the places of steps without a final result. It gives the steps that have one then.
func (w *watch) judgeSteps(ctx context.Context, steps []*step) ([]*step, error) {
	now, err := w.referee.current(ctx)
	if err != nil {
		return nil, err
	}
	if w.referee.request.Map != nil {
		return w.judgeMapped(ctx, steps)
	}
	var left []*place
	for _, s := range steps {
		for _, p := range s.sorted() {
			if p.outcome == nil || p.outcome.by != now {
				left = append(left, p)
			}
		}
	}
	if len(left) == 0 {
		return steps, nil
	}
	return steps, w.judge(ctx, left, always)
}

// judge judges places and reports divergences.
func (w *watch) judge(ctx context.Context, places []*place, when inFull) error {
	differ, err := w.referee.judge(ctx, places, when)
	if err != nil {
		return err
	}
	for _, p := range places {
		p.dirty = false
	}
	return w.divergeFirst(differ)
}

// divergeFirst reports the first of differences.
func (w *watch) divergeFirst(differ []*found) error {
	if len(differ) == 0 {
		return nil
	}
	return w.diverge(slices.MinFunc(differ, func(a, b *found) int { return a.spot().compare(b.spot()) }))
}

// diverge reports a divergence, if it is before the last one reported.
func (w *watch) diverge(f *found) error {
	at := f.spot()
	if w.first != nil && at.compare(*w.first) >= 0 {
		return nil
	}
	d, rank := f.first, int64(at.rank)
	event := &report.WatchEvent{
		Event: "divergence", Step: &at.step, Rank: &rank, Op: d.Op, Module: d.Module, Role: d.Role, Path: d.Path,
		Verdict: d.Class.String(), Side: d.Side.String(), Evidence: d.Evidence.String(), WithinStep: !f.place.ended(),
		Error: measure(d.Error), Tolerance: measure(d.Tolerance),
	}
	f.locate(event)
	w.first = &at
	return w.tell(event)
}

func measure(v float64) report.Measure {
	if math.IsNaN(v) {
		return report.Measure{}
	}
	return report.Measure{Known: true, Value: v}
}
