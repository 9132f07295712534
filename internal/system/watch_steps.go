package system

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/tensortap/tensortap/internal/report"
)

// ended says whether that rank has ended the step in both runs.
func (s *watchedStep) ended(rank int64) bool {
	return s.sides[0][rank].ended && s.sides[1][rank].ended
}

// judgeWhole judges the steps that both runs have whole, and says a line of each.
func (w *watch) judgeWhole(ctx context.Context) error {
	for _, steps := range spans(w.whole()) {
		judged, err := w.client.Report(ctx, "judged_steps", w.parameters(steps.First, steps.Last))
		if err != nil {
			return err
		}
		for step := steps.First; step <= steps.Last; step++ {
			if err := w.sayStep(ctx, step, judged); err != nil {
				return err
			}
		}
	}
	w.busy()
	return nil
}

// whole are the steps, in order, whose line can be said.
func (w *watch) whole() []int64 {
	var whole []int64
	for _, step := range slices.Sorted(maps.Keys(w.steps)) {
		s, rest := w.steps[step], w.asked.Sub(w.steps[step].changed)
		if s.said == s.signature() || len(s.sides[0]) == 0 || len(s.sides[1]) == 0 {
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

// spans joins steps that follow each other.
func spans(steps []int64) []Steps {
	var joined []Steps
	for _, step := range steps {
		if last := len(joined) - 1; last >= 0 && joined[last].Last == step-1 && step-joined[last].First < stepsAtOnce {
			joined[last].Last = step
			continue
		}
		joined = append(joined, Steps{First: step, Last: step})
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

// sayStep says the line of a step.
func (w *watch) sayStep(ctx context.Context, step int64, judged report.Table) error {
	e := &report.WatchEvent{Event: "step", Step: &step, State: "agree", Incomplete: w.lacks(step)}
	var agreeing, masked uint64
	for i := range judged.Rows {
		if int64(judged.Get(i, "step").Number) != step {
			continue
		}
		if paired := count(judged, i, "paired_count"); paired > 0 {
			e.Ranks++
			e.Paired += paired
		}
		e.OnlyProblem += count(judged, i, "only_problem_count")
		e.OnlyBench += count(judged, i, "only_bench_count")
		e.Unknown += count(judged, i, "unknown_count")
		e.Differing += count(judged, i, "differing_count")
		agreeing += count(judged, i, "agreeing_count")
		masked += count(judged, i, "same_not_finite_count")
		if count(judged, i, "differing_count") > 0 {
			if err := w.diverge(ctx, judged, i, false); err != nil {
				return err
			}
		}
	}
	switch {
	case e.Differing > 0:
		e.State = "differs"
	case agreeing == 0 || len(e.Incomplete) > 0 || masked > 0:
		e.State = "unknown"
	}
	s := w.steps[step]
	if s.said == "" {
		w.judged++
	}
	s.said = s.signature()
	w.differing, w.measured, w.masked = w.differing+e.Differing, w.measured+agreeing, w.masked+masked
	if err := w.tell(e); err != nil {
		return err
	}
	w.finish()
	return nil
}

// finish forgets the first steps as long as they are whole, said and at rest: they are not looked at again.
func (w *watch) finish() {
	for _, step := range slices.Sorted(maps.Keys(w.steps)) {
		s := w.steps[step]
		if s.said == "" || s.said != s.signature() || len(w.lacks(step)) > 0 || w.asked.Sub(s.changed) < w.r.Idle {
			return
		}
		delete(w.steps, step)
		w.from = step + 1
	}
}
