package system

import (
	"context"
	"slices"
	"strconv"

	"golang.org/x/sync/errgroup"

	"github.com/tensortap/tensortap/internal/report"
	"github.com/tensortap/tensortap/sql"
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
	landed, err := w.client.Report(ctx, "landed", w.parameters(dirty[0], dirty[len(dirty)-1]))
	if err != nil {
		return err
	}
	for row := range landed.Rows {
		if err := w.judgeDifferent(ctx, landed, row); err != nil {
			return err
		}
	}
	for _, step := range dirty {
		w.steps[step].dirty = false
	}
	return nil
}

// judgeDifferent asks for the verdict where numbers are not the very same, and more of them than last time.
func (w *watch) judgeDifferent(ctx context.Context, landed report.Table, row int) error {
	rank, step := int64(landed.Get(row, "rank").Number), int64(landed.Get(row, "step").Number)
	s, different := w.steps[step], count(landed, row, "different_count")
	if s == nil || different == s.different[rank] || w.first != nil && w.first.step < step {
		return nil
	}
	parameters := w.parameters(step, step)
	parameters["rank"] = strconv.FormatInt(rank, 10)
	judged, err := w.judgePairs(ctx, parameters)
	if err != nil {
		return err
	}
	s.different[rank] = different
	for i := range judged.Rows {
		if count(judged, i, "differing_count") == 0 {
			continue
		}
		if !s.ended(rank) && judged.Get(i, "seq").Number >= landed.Get(row, "same_until").Number {
			continue // by ids alone it is not sure that these are partners
		}
		if err := w.diverge(ctx, judged, i, !s.ended(rank)); err != nil {
			return err
		}
	}
	return nil
}

// judgePairs judges a step for its pairs alone, which is quicker: these facts only tell why a row has no partner.
func (w *watch) judgePairs(ctx context.Context, parameters map[string]string) (report.Table, error) {
	query, values, err := prepareReport("judged_steps", parameters)
	if err != nil {
		return report.Table{}, err
	}
	text, err := w.client.settledGiven(ctx, query.Query, values, map[string]sql.Fact{
		"incomplete_ranks": {Type: "Tuple(Array(UInt32), Array(UInt32))", Text: "([],[])"},
		"common_steps":     {Type: "Array(Tuple(UInt32, UInt32))", Text: "[]"},
	})
	if err != nil {
		return report.Table{}, err
	}
	return w.client.Table(ctx, text, values)
}

func (w *watch) parameters(first, last int64) map[string]string {
	request := w.r.Compare
	request.Steps = Steps{First: first, Last: last}
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
