package judging

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/tensortap/tensortap/analysis/ask"
	"github.com/tensortap/tensortap/analysis/compare"
	"github.com/tensortap/tensortap/analysis/judge"
	"github.com/tensortap/tensortap/analysis/result"
	"github.com/tensortap/tensortap/analysis/rows"
	"github.com/tensortap/tensortap/analysis/verdicts"
	"github.com/tensortap/tensortap/schemas"
)

// recalled are the steps of the job that were judged whole before. A step of one run only is not among them: its partner may
// be known by now. None is recalled where three benches or more, or a calibration, are the measure, which may have gone on; where tensors are
// made of others; and where ops of one run count, since no row tells them.
func (k *Keeper) recalled(ctx context.Context, c Comparison, job *compare.Job, w *writer) (compare.Recalled, error) {
	recalled := compare.Recalled{Verdicts: func(ctx context.Context, places []result.Known) (map[rows.Place][]judge.Judged, error) {
		return k.verdicts(ctx, c.ID(), w, places)
	}}
	if len(w.units) == 0 || len(c.Request.Benches) >= judge.BandRuns || c.Request.Calibrate != "" || c.Request.Map != nil || len(job.Merges()) > 0 || c.Strict {
		return recalled, nil
	}
	stored, err := ask.Rows[schemas.JudgedStepRow](ctx, k.Door, fmt.Sprintf("comparison_id = %d AND provisional = 0", c.ID()))
	if err != nil {
		return recalled, fmt.Errorf("read what was judged before: %w", err)
	}
	if err := k.Stored(ctx); err != nil { // a step is published after its verdicts, but may be stored before them
		return recalled, err
	}
	byUnit := make(map[uint64]*schemas.JudgedStepRow, len(stored))
	for i := range stored {
		byUnit[stored[i].Epoch] = &stored[i]
	}
	for _, at := range job.Steps() {
		unit := w.unitOf(at)
		if row := byUnit[unit.Epoch()]; row != nil && at.InProblem && at.InBench && verdicts.IsOf(row, unit) {
			recalled.Places = append(recalled.Places, verdicts.Known(at, row))
		}
	}
	return recalled, nil
}

// verdicts are those of places that do not agree.
func (k *Keeper) verdicts(ctx context.Context, comparison uint64, w *writer, places []result.Known) (map[rows.Place][]judge.Judged, error) {
	steps, units := map[string]bool{}, make([]string, 0, len(places))
	for i := range places {
		steps[strconv.FormatUint(uint64(places[i].At.Step), 10)] = true
		units = append(units, strconv.FormatUint(w.unitOf(places[i].At).Epoch(), 10))
	}
	stored, err := ask.Rows[schemas.VerdictRow](ctx, k.Door,
		fmt.Sprintf("comparison_id = %d AND step IN (%s) AND epoch IN (%s)", comparison, strings.Join(slices.Collect(maps.Keys(steps)), ", "), strings.Join(units, ", ")))
	if err != nil {
		return nil, fmt.Errorf("read the verdicts of before: %w", err)
	}
	judged := make(map[rows.Place][]judge.Judged, len(places))
	for i := range stored {
		at := rows.Place{Rank: stored[i].Rank, Step: stored[i].Step}
		judged[at] = append(judged[at], verdicts.Judged(&stored[i]))
	}
	return judged, nil
}
