package system

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/tensortap/tensortap/internal/report"
	"github.com/tensortap/tensortap/pipelines"
)

// watch is one call of Watch. Steps are those of the problem's numbering.
type watch struct {
	r       WatchRequest
	client  *Client // nil while there is no connection
	begun   time.Time
	took    time.Duration // by the last look
	away    bool          // it was said that the database is
	reached bool          // the database was, at least once
	deaf    error         // of who is told
	sides   [2]*watchedRun
	steps   map[int64]*watchedStep // those that are not done
	from    int64                  // steps below are done
	aligned map[[2]string]bool     // pairs of programs that were looked at

	asked     time.Time // when the runs were measured last
	changed   time.Time // when anything came last, as far as asked
	judged    int       // steps
	measured  uint64    // pairs that something can be said of
	masked    uint64    // pairs not finite on both sides in the same way
	differing uint64
	first     *spot    // of the first divergence
	gaps      []string // what is missing of both runs, at the end
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
	said      string           // line of the step
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
		r: r, begun: r.Now(), changed: r.Now(), from: r.Compare.Steps.First,
		steps: map[int64]*watchedStep{}, aligned: map[[2]string]bool{},
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
	group, askCtx := errgroup.WithContext(ctx)
	var tables [2]report.Table
	for i, side := range w.sides {
		last := w.r.Compare.Steps.Last
		if last >= 0 {
			last += side.offset
		}
		group.Go(func() (err error) {
			tables[i], err = w.client.Report(askCtx, "progress", map[string]string{
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
	if step < w.from || w.r.Compare.Steps.Last >= 0 && step > w.r.Compare.Steps.Last || w.r.Compare.Rank >= 0 && rank != w.r.Compare.Rank {
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
		ended: truthOf(t.Get(row, "ended")), complete: truthOf(t.Get(row, "complete")),
		program: t.Get(row, "program_id").Exact, reason: t.Get(row, "drop_reason").Exact,
	}
	if before, known := s.sides[side][rank]; known && before == now {
		return
	}
	s.sides[side][rank] = now
	s.changed, s.dirty, w.changed = w.asked, true, w.asked
}

func truthOf(v report.Value) bool { return v.Exact == "1" || v.Exact == "true" }

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
		if s.dirty && len(s.sides[0]) > 0 && len(s.sides[1]) > 0 {
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
	judged, err := w.client.Report(ctx, "judged_steps", parameters)
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

// ended says whether that rank has ended the step in both runs.
func (s *watchedStep) ended(rank int64) bool {
	return s.sides[0][rank].ended && s.sides[1][rank].ended
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
	w.differing = max(w.differing, 1)
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
	for _, side := range w.sides {
		found, err := w.client.Report(ctx, "op_place", map[string]string{
			"run": side.name, "op": e.Op, "rank": strconv.FormatInt(*e.Rank, 10), "step": strconv.FormatInt(*e.Step+side.offset, 10),
		})
		if err != nil {
			return err
		}
		if len(found.Rows) > 0 {
			e.Module, e.UserFrame = found.Get(0, "module").Exact, found.Get(0, "user_frame").Exact
		}
		if e.UserFrame != "" {
			return nil
		}
	}
	return nil
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

// busy tells what goes on.
func (w *watch) busy() {
	var rows uint64
	last := w.from
	for step, s := range w.steps {
		last = max(last, step)
		for _, side := range s.sides {
			for _, p := range side {
				rows += p.rows
			}
		}
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
	w.gaps, err = w.client.gaps(ctx, w.sides[0].name, w.sides[1].name)
	return err == nil, err
}

// verdict is the answer so far.
func (w *watch) verdict() report.Verdict {
	switch {
	case w.differing > 0:
		return report.Differs
	case w.judged == 0 || w.measured == 0 || w.masked > 0 || len(w.gaps) > 0:
		return report.Unknown
	}
	return report.Same
}

// end is the last event.
func (w *watch) end() *report.WatchEvent {
	e := &report.WatchEvent{Event: "end", State: string(w.verdict()), Steps: w.judged, Incomplete: w.gaps, Differing: w.differing}
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
