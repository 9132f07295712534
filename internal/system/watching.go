package system

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/tensortap/tensortap/analysis/report"
	"github.com/tensortap/tensortap/pipelines"
)

// watch is one call of Watch. Steps are those of the problem's numbering.
type watch struct {
	r       WatchRequest
	client  *Client // nil while there is no connection
	begun   time.Time
	took    time.Duration // by the last measuring of the runs
	away    bool          // it was said that the database is
	reached bool          // the database was, at least once
	deaf    error         // of who is told
	sides   [2]*watchedRun
	steps   map[int64]*watchedStep // those that are not done
	from    int64                  // steps below are done
	aligned map[[2]string]bool     // pairs of programs that were looked at

	progress                  [2]watchedQuestion // of problem and bench
	landed, pairs, wholeSteps watchedQuestion
	asking                    *wholeQuestion // nil while none is on its way

	asked      time.Time    // when the runs were looked at last
	sight      sight        // what was found out then
	counted    string       // how many rows the runs had when they were measured
	measuredAt time.Time    // when it was asked how far each step is
	changed    time.Time    // when anything came last, as far as asked
	judged     int          // steps
	done       report.Tally // of the steps that are done
	first      *spot        // of the first divergence
	gaps       []string     // what is missing of both runs, at the end
}

// watchedRun is the problem or the bench.
type watchedRun struct {
	name   string
	offset int64 // what to take off its steps
	there  bool
	waited bool // it was said that it is not
	ranks  map[int64]bool
}

// watchedStep is a step of both runs.
type watchedStep struct {
	sides     [2]map[int64]progress // by rank
	changed   time.Time
	dirty     bool             // changed since it was looked at
	different map[int64]uint64 // by rank, how many numbers were not the very same when the step was judged last
	said      string           // signature when its line was said
	tally     report.Tally     // as was said
}

// progress is how far a rank is with a step.
type progress struct {
	rows, produced, dropped uint64
	ended, complete         bool
	program, reason         string
}

// spot is where a divergence is.
type spot struct{ step, rank, seq int64 }

func (p spot) before(o spot) bool {
	if p.step != o.step {
		return p.step < o.step
	}
	return p.seq < o.seq || p.seq == o.seq && p.rank < o.rank
}

func newWatch(r WatchRequest) *watch {
	return &watch{
		r: r, begun: r.Now(), changed: r.Now(), from: r.Compare.Steps.First(),
		steps: map[int64]*watchedStep{}, aligned: map[[2]string]bool{},
		progress: [2]watchedQuestion{{report: "progress"}, {report: "progress"}}, landed: watchedQuestion{report: "landed"},
		pairs: pairsQuestion(), wholeSteps: watchedQuestion{report: "judged_steps"},
		sides: [2]*watchedRun{
			{name: r.Compare.Problem, ranks: map[int64]bool{}},
			{name: r.Compare.Bench(), offset: r.Compare.StepOffset, ranks: map[int64]bool{}},
		},
	}
}

// arrived says whether both runs exist, and tells for which it waits.
func (w *watch) arrived(ctx context.Context) (bool, error) {
	all := true
	for _, side := range w.sides {
		if side.there {
			continue
		}
		table, err := w.client.Table(ctx, "SELECT count() AS found FROM tap_store.run WHERE name = {run:String}", map[string]string{"run": side.name})
		if err != nil {
			return false, err
		}
		side.there = table.Get(0, "found").Number > 0
		all = all && side.there
		if err := w.sayWaiting(side); err != nil {
			return false, err
		}
	}
	if !all {
		if err := w.back(); err != nil {
			return false, err
		}
	}
	return all, nil
}

func (w *watch) sayWaiting(side *watchedRun) error {
	switch {
	case !side.there && !side.waited:
		side.waited = true
		return w.tell(&report.WatchEvent{Event: "waiting", For: "run " + side.name})
	case side.there && side.waited:
		return w.tell(&report.WatchEvent{Event: "going_on", For: "run " + side.name})
	}
	return nil
}

// measure asks how far both runs are.
func (w *watch) measure(ctx context.Context) error {
	w.asked = w.r.Now()
	rows, err := w.count(ctx)
	if err != nil {
		return err
	}
	counted := rows["tensor"] + " " + rows["step"]
	if counted == w.counted && w.asked.Sub(w.measuredAt) < remeasure {
		return nil
	}
	if w.sight, err = w.see(ctx, rows); err != nil {
		return err
	}
	if err := w.measureSteps(ctx); err != nil {
		return err
	}
	w.counted, w.measuredAt = counted, w.asked
	return nil
}

func (w *watch) measureSteps(ctx context.Context) error {
	group, askCtx := errgroup.WithContext(ctx)
	var tables [2]report.Table
	for i, side := range w.sides {
		last := w.r.Compare.Steps.Last()
		if last >= 0 {
			last += side.offset
		}
		group.Go(func() (err error) {
			tables[i], err = w.progress[i].ask(askCtx, w.client, w.sight, map[string]string{
				"run": side.name, "first_step": strconv.FormatInt(max(0, w.from+side.offset), 10), "last_step": strconv.FormatInt(last, 10),
			})
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	for i, table := range tables {
		for row := range table.Rows {
			w.note(i, table, row)
		}
	}
	return nil
}

// note takes one row of the report progress.
func (w *watch) note(side int, t report.Table, row int) {
	rank, step := int64(t.Get(row, "rank").Number), int64(t.Get(row, "step").Number)-w.sides[side].offset
	if step < w.from || !w.r.Compare.Steps.Contains(step) || w.r.Compare.Rank >= 0 && rank != w.r.Compare.Rank {
		return
	}
	w.sides[side].ranks[rank] = true
	s := w.steps[step]
	if s == nil {
		s = &watchedStep{sides: [2]map[int64]progress{{}, {}}, different: map[int64]uint64{}}
		w.steps[step] = s
	}
	now := progress{
		rows: count(t, row, "row_count"), produced: count(t, row, "produced_row_count"), dropped: count(t, row, "dropped_count"),
		ended: t.Get(row, "ended").True(), complete: t.Get(row, "complete").True(),
		program: t.Get(row, "program_id").Exact, reason: t.Get(row, "drop_reason").Exact,
	}
	if before, known := s.sides[side][rank]; known && before == now {
		return
	}
	s.sides[side][rank] = now
	s.changed, s.dirty, w.changed = w.asked, true, w.asked
}

// busy tells what goes on.
func (w *watch) busy() {
	var rows uint64
	last := w.from
	for step, s := range w.steps {
		last = max(last, step)
		rows += s.rows()
	}
	w.r.Busy(fmt.Sprintf("%d steps judged, at step %d, %d rows since step %d", w.judged, last, rows, w.from))
}

// runsEnded says whether nothing more will come of either run.
func (w *watch) runsEnded(ctx context.Context) (bool, error) {
	w.finish()
	if w.asked.Sub(w.changed) < w.r.Idle || len(w.whole()) > 0 {
		return false, nil
	}
	stored, err := pipelines.ConsumerProgress(ctx, w.client.stream, databaseConsumer)
	if err != nil || !stored.CaughtUp() {
		return false, err
	}
	running, err := w.client.Table(ctx, "SELECT countIf(status = 'running') AS running FROM tap.runs WHERE name IN ({problem:String}, {bench:String})",
		map[string]string{"problem": w.sides[0].name, "bench": w.sides[1].name})
	if err != nil {
		return false, err
	}
	if running.Get(0, "running").Number > 0 {
		w.changed = w.asked // look again later
		return false, nil
	}
	// What was stored since the runs were measured is not judged yet.
	before := w.changed
	if err := w.measure(ctx); err != nil || w.changed != before {
		return false, err
	}
	w.gaps, err = w.client.Gaps(ctx, w.sides[0].name, w.sides[1].name)
	return err == nil, err
}

// tally counts what was judged, and what has no step to be judged in.
func (w *watch) tally() report.Tally {
	total := w.done
	for _, s := range w.steps {
		total = total.Plus(s.tally)
		if s.alone() {
			total = total.Plus(report.Tally{Places: 1, Unknown: s.rows(), AloneUnknown: s.rows()})
		}
	}
	return total
}

// alone says whether only one run has the step.
func (s *watchedStep) alone() bool { return len(s.sides[0]) == 0 || len(s.sides[1]) == 0 }

// rows is how many rows there are of the step, of both runs.
func (s *watchedStep) rows() uint64 {
	var rows uint64
	for _, side := range s.sides {
		for _, p := range side {
			rows += p.rows
		}
	}
	return rows
}

// verdict is the answer so far, and why that is unknown.
func (w *watch) verdict() (report.Verdict, string) {
	if w.first != nil {
		return report.Differs, ""
	}
	return w.tally().Judge(len(w.gaps) == 0)
}

// end is the last event.
func (w *watch) end() *report.WatchEvent {
	verdict, because := w.verdict()
	e := &report.WatchEvent{
		Event: "end", State: string(verdict), Because: because, Steps: w.judged, Incomplete: slices.Clone(w.gaps), Differing: w.tally().Differing,
	}
	if w.first != nil {
		e.Differing = max(e.Differing, 1) // of a step that was not judged as a whole
		e.Step = &w.first.step
	}
	for i, side := range w.sides {
		lone := 0
		for _, s := range w.steps {
			if len(s.sides[1-i]) == 0 {
				lone++
			}
		}
		if lone > 0 {
			e.Incomplete = append(e.Incomplete, fmt.Sprintf("%d steps are only in %s", lone, side.name))
		}
	}
	return e
}
