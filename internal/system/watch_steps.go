package system

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/tensortap/tensortap/analysis/report"
	"github.com/tensortap/tensortap/internal/steps"
)

// ended says whether that rank has ended the step in both runs.
func (s *watchedStep) ended(rank int64) bool {
	return s.sides[0][rank].ended && s.sides[1][rank].ended
}

// whole are the steps, in order, whose line can be said.
func (w *watch) whole() []int64 {
	var whole []int64
	for _, step := range slices.Sorted(maps.Keys(w.steps)) {
		s, rest := w.steps[step], w.asked.Sub(w.steps[step].changed)
		if s.said == s.signature() || s.alone() {
			continue
		}
		if rest >= w.r.Idle || rest >= w.r.Settle && len(w.lacks(step)) == 0 {
			whole = append(whole, step)
		}
	}
	return whole
}

// signature changes with what there is of the step.
func (s *watchedStep) signature() string { return fmt.Sprint(s.sides) }

// stepsAtOnce bounds one question about steps that follow each other.
const stepsAtOnce = 100

// spans joins steps that follow each other, up to so many.
func spans(numbers []int64, most int64) []steps.Range {
	var joined []steps.Range
	for _, step := range numbers {
		if last := len(joined) - 1; last >= 0 && joined[last].Last == step-1 && step-joined[last].First < most {
			joined[last].Last = step
			continue
		}
		joined = append(joined, steps.Range{First: step, Last: step})
	}
	return joined
}

// lacks says what is missing of a step.
func (w *watch) lacks(step int64) []string {
	var lacks []string
	for i, side := range w.sides {
		for _, rank := range slices.Sorted(maps.Keys(side.ranks)) {
			if lack := w.steps[step].sides[i][rank].lacks(); lack != "" {
				lacks = append(lacks, fmt.Sprintf("run %s rank %d: %s", side.name, rank, lack))
			}
		}
	}
	return lacks
}

// lacks says what is missing of a rank's step; of one that never began, all is.
func (p progress) lacks() string {
	switch {
	case p.rows == 0 && !p.ended:
		return "nothing of the step is stored"
	case !p.ended:
		return fmt.Sprintf("the step has not ended, %d rows so far", p.rows)
	case p.rows < p.produced:
		return fmt.Sprintf("%d of %d rows are missing", p.produced-p.rows, p.produced)
	case p.dropped > 0:
		return fmt.Sprintf("the rank dropped %d (%s)", p.dropped, p.reason)
	case !p.complete:
		return "the step was cut short"
	}
	return ""
}

// sayStep says the line of a step that was asked about.
func (w *watch) sayStep(ctx context.Context, step int64, q *wholeQuestion) error {
	s, rows := w.steps[step], rowsOf(q.judged, step)
	for i := range rows.Rows {
		if count(rows, i, "differing_count") > 0 {
			if err := w.diverge(ctx, rows, i, false); err != nil {
				return err
			}
		}
	}
	if s.said == "" {
		w.judged++
	}
	s.said, s.tally = q.signatures[step], rows.Tally()
	if err := w.tell(stepEvent(step, rows, w.lacks(step))); err != nil {
		return err
	}
	w.finish()
	return nil
}

// rowsOf are the rows of one step.
func rowsOf(t report.Table, step int64) report.Table {
	of := t
	of.Rows = nil
	for i, row := range t.Rows {
		if int64(t.Get(i, "step").Number) == step {
			of.Rows = append(of.Rows, row)
		}
	}
	return of
}

func stepEvent(step int64, rows report.Table, lacks []string) *report.WatchEvent {
	e := &report.WatchEvent{
		Event: "step", Step: &step, Incomplete: lacks, Paired: rows.Sum("paired_count"), OnlyProblem: rows.Sum("only_problem_count"),
		OnlyBench: rows.Sum("only_bench_count"), Unknown: rows.Sum("unknown_count"), Differing: rows.Sum("differing_count"),
	}
	for i := range rows.Rows {
		if count(rows, i, "paired_count") > 0 {
			e.Ranks++
		}
	}
	verdict, because := rows.Tally().Judge(len(lacks) == 0)
	e.State, e.Because = string(verdict), because
	if verdict == report.Same {
		e.State = "agree"
	}
	return e
}

// finish forgets the first steps as long as they are whole, said and at rest: they are not looked at again.
func (w *watch) finish() {
	for _, step := range slices.Sorted(maps.Keys(w.steps)) {
		s := w.steps[step]
		if s.said == "" || s.said != s.signature() || len(w.lacks(step)) > 0 || w.asked.Sub(s.changed) < w.r.Idle {
			return
		}
		w.done = w.done.Plus(s.tally)
		delete(w.steps, step)
		w.from = step + 1
	}
}
