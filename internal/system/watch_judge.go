package system

import (
	"context"
	"maps"
	"slices"
	"strconv"

	"golang.org/x/sync/errgroup"

	"github.com/tensortap/tensortap/analysis/report"
	"github.com/tensortap/tensortap/internal/steps"
)

// align pairs the ops of programs that differ, once their steps have ended on both sides.
func (w *watch) align(ctx context.Context) error {
	fresh := false
	for _, step := range w.steps {
		for rank, p := range step.sides[0] {
			b, found := step.sides[1][rank]
			pair := [2]string{p.program, b.program}
			if found && p.ended && b.ended && p.program != b.program && !w.aligned[pair] {
				w.aligned[pair], fresh = true, true
			}
		}
	}
	if !fresh {
		return nil
	}
	return w.client.Align(ctx, w.r.Compare.Problem, w.r.Compare.Bench(), w.r.Compare.StepOffset)
}

// judgeLanded looks for a divergence in what has landed of steps, whole or not.
func (w *watch) judgeLanded(ctx context.Context) error {
	var dirty []int64
	for step, s := range w.steps {
		if s.dirty && !s.alone() {
			dirty = append(dirty, step)
		}
	}
	if len(dirty) == 0 {
		return nil
	}
	slices.Sort(dirty)
	landed, err := w.landed.ask(ctx, w.client, w.sight, w.parameters(dirty[0], dirty[len(dirty)-1]))
	if err != nil {
		return err
	}
	if err := w.judgeDifferent(ctx, w.different(landed)); err != nil {
		return err
	}
	for _, step := range dirty {
		w.steps[step].dirty = false
	}
	return nil
}

// landing is what landed of a step of one rank, of both runs.
type landing struct {
	different uint64  // numbers that are not the very same
	sameUntil float64 // up to where in its order both runs observed the same
}

// rankStep is a step of one rank of the problem.
type rankStep struct{ rank, step int64 }

// different is where numbers are not the very same, and others than last time.
func (w *watch) different(landed report.Table) map[rankStep]landing {
	found := map[rankStep]landing{}
	for row := range landed.Rows {
		at := rankStep{int64(landed.Get(row, "rank").Number), int64(landed.Get(row, "step").Number)}
		s, different := w.steps[at.step], count(landed, row, "different_count")
		if s == nil || different == s.different[at.rank] || w.first != nil && w.first.step < at.step {
			continue
		}
		found[at] = landing{different: different, sameUntil: landed.Get(row, "same_until").Number}
	}
	return found
}

// stepsJoined bounds one question about steps of which rows have landed: all of their rows are joined.
const stepsJoined = 10

// judgeDifferent asks for the verdicts of what is different. To plan a question takes longer than to answer it for several
// ranks and steps.
func (w *watch) judgeDifferent(ctx context.Context, found map[rankStep]landing) error {
	steps := map[int64]bool{}
	for at := range found {
		steps[at.step] = true
	}
	for _, some := range spans(slices.Sorted(maps.Keys(steps)), stepsJoined) {
		judged, err := w.pairs.ask(ctx, w.client, w.sight, w.parameters(some.First, some.Last))
		if err != nil {
			return err
		}
		if err := w.sayDifferent(ctx, judged, found); err != nil {
			return err
		}
	}
	for at, landed := range found {
		w.steps[at.step].different[at.rank] = landed.different
	}
	return nil
}

// sayDifferent says where what is different diverges.
func (w *watch) sayDifferent(ctx context.Context, judged report.Table, found map[rankStep]landing) error {
	for i := range judged.Rows {
		at := rankStep{int64(judged.Get(i, "rank").Number), int64(judged.Get(i, "step").Number)}
		landed, different := found[at]
		if !different || count(judged, i, "differing_count") == 0 {
			continue
		}
		ended := w.steps[at.step].ended(at.rank)
		if !ended && judged.Get(i, "seq").Number >= landed.sameUntil {
			continue // by ids alone it is not sure that these are partners
		}
		if err := w.diverge(ctx, judged, i, !ended); err != nil {
			return err
		}
	}
	return nil
}

func (w *watch) parameters(first, last int64) map[string]string {
	request := w.r.Compare
	request.Steps = steps.Between(steps.Range{First: first, Last: last})
	return request.Parameters(request.Problem, request.Benches)
}

// diverge says where the runs diverge, if that is before what was said already.
func (w *watch) diverge(ctx context.Context, judged report.Table, row int, within bool) error {
	at := spot{int64(judged.Get(row, "step").Number), int64(judged.Get(row, "rank").Number), int64(judged.Get(row, "seq").Number)}
	if w.first != nil && !at.before(*w.first) {
		return nil
	}
	text := func(column string) string { return judged.Get(row, column).Exact }
	event := &report.WatchEvent{
		Event: "divergence", Step: &at.step, Rank: &at.rank, Op: text("op"), Module: text("module"), Role: text("role"), Path: text("path"),
		Verdict: text("verdict"), Side: text("side"), Evidence: text("evidence"), WithinStep: within,
		Error: measure(judged, row, "error"), Tolerance: measure(judged, row, "tolerance"),
	}
	if err := w.locate(ctx, event); err != nil {
		return err
	}
	w.first = &at
	return w.tell(event)
}

func measure(t report.Table, row int, column string) report.Measure {
	v := measured(t, row, column)
	if v == nil {
		return report.Measure{}
	}
	return report.Measure{Known: true, Value: *v}
}

// locate adds module and user frame, where a step with that op has ended in either run.
func (w *watch) locate(ctx context.Context, e *report.WatchEvent) error {
	var places [2]report.Table
	group, askCtx := errgroup.WithContext(ctx)
	for i, side := range w.sides {
		group.Go(func() (err error) {
			places[i], err = w.client.Report(askCtx, "op_place", map[string]string{
				"run": side.name, "op": e.Op, "rank": strconv.FormatInt(*e.Rank, 10), "step": strconv.FormatInt(*e.Step+side.offset, 10),
			})
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	for _, found := range places {
		if len(found.Rows) > 0 {
			e.Module, e.UserFrame = found.Get(0, "module").Exact, found.Get(0, "user_frame").Exact
		}
		if e.UserFrame != "" {
			return nil
		}
	}
	return nil
}
