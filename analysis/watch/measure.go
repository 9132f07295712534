package watch

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/tensortap/tensortap/analysis/pair"
	"github.com/tensortap/tensortap/analysis/report"
	"github.com/tensortap/tensortap/analysis/rows"
	"github.com/tensortap/tensortap/analysis/rows/store"
	"github.com/tensortap/tensortap/internal/plural"
)

// watch is one call of Run. Steps are those of the problem's numbering.
type watch struct {
	r        Request
	database *Database // nil while there is no connection
	follower *store.Follower
	referee  *referee
	begun    time.Time
	took     time.Duration // by the last measuring of the runs
	away     bool          // that the database is away was reported
	reached  bool          // the database was, at least once
	deaf     error         // an error of the receiver of events
	sides    [2]side
	ranks    []pair.Ranks
	steps    map[int64]*step // those that are not done
	order    []*step         // those, sorted; nil where that is not known
	from     int64           // steps below are done

	asked   time.Time    // when the runs were looked at last
	changed time.Time    // when anything came last, as far as asked
	judged  int          // steps
	done    report.Tally // of the steps that are done
	first   *spot        // of the first divergence
	gaps    []string     // gaps of both runs, at the end
	leftOut report.LeftOut
	mapped  bool // that the runs pair by a map was reported

	rankAwaited bool // that the problem does not have the asked rank was reported
}

// side is the problem or the bench.
type side struct {
	name   string
	offset int64 // to subtract from its steps
	there  bool
	waited bool // that it does not exist was reported
	ranks  map[uint32]bool
}

func newWatch(r Request) *watch {
	return &watch{
		r: r, begun: r.Now(), changed: r.Now(), from: r.Compare.Steps.First(), steps: map[int64]*step{},
		sides: [2]side{
			{name: r.Compare.Problem, ranks: map[uint32]bool{}},
			{name: r.Compare.Benches[0], offset: r.Compare.StepOffset, ranks: map[uint32]bool{}},
		},
	}
}

// arrived says whether both runs exist, and reports the one that it waits for.
func (w *watch) arrived(ctx context.Context) (bool, error) {
	all := true
	for i := range w.sides {
		side := &w.sides[i]
		if side.there {
			continue
		}
		side.there = w.follower.Runs()[i].Exists()
		all = all && side.there
		if err := w.sayWaiting(ctx, side); err != nil {
			return false, err
		}
	}
	if all {
		return true, w.sayRank()
	}
	return false, w.back()
}

// sayWaiting names the runs that may have been meant: one that was mistyped never comes.
func (w *watch) sayWaiting(ctx context.Context, side *side) error {
	switch {
	case !side.there && !side.waited:
		nearest, err := w.database.Nearest(ctx, side.name)
		if err != nil {
			return err
		}
		side.waited = true
		return w.tell(&report.WatchEvent{Event: "waiting", For: "run " + side.name, Nearest: nearest})
	case side.there && side.waited:
		return w.tell(&report.WatchEvent{Event: "going_on", For: "run " + side.name})
	}
	return nil
}

// measure asks how far both runs are.
func (w *watch) measure(ctx context.Context) error {
	w.asked = w.r.Now()
	first := []uint32{stepNumber(w.from), stepNumber(w.from + w.r.Compare.StepOffset)}
	if w.served() {
		first = []uint32{0, 0} // a step with the same requests may have any number
	}
	news, err := w.follower.Look(ctx, first)
	if err != nil {
		return err
	}
	if !news {
		return nil
	}
	w.note()
	w.busy()
	return nil
}

func stepNumber(step int64) uint32 { return uint32(min(max(step, 0), math.MaxUint32)) } //nolint:gosec // bounded

// served says whether steps may pair by their requests.
func (w *watch) served() bool {
	runs := w.follower.Runs()
	return w.r.Compare.StepOffset == 0 && len(runs[0].Run.Requests) > 0 && len(runs[1].Run.Requests) > 0
}

// note takes the changes of both runs, place beside place.
func (w *watch) note() {
	problem, bench := w.follower.Runs()[0], w.follower.Runs()[1]
	touched := map[int64]bool{}
	for i, run := range w.follower.Runs() {
		for _, at := range run.TakeChanged() {
			touched[int64(at.Step)-w.sides[i].offset] = true
		}
	}
	ranks := pair.PairRanks(problem.Run, bench.Run)
	left, right := someSteps(problem.Run, touched, 0), someSteps(bench.Run, touched, w.r.Compare.StepOffset)
	if w.served() || !slices.Equal(ranks, w.ranks) {
		left, right = problem.Run, bench.Run
		w.forgetPlaces()
	}
	w.ranks = ranks
	for _, at := range pair.PairSteps(left, right, ranks, w.r.Compare.StepOffset) {
		w.noteStep(at)
	}
	w.order = nil
	maps.DeleteFunc(w.steps, func(_ int64, s *step) bool { return len(s.sides[0])+len(s.sides[1]) == 0 })
}

// someSteps is a run with some of its steps alone, by the problem's numbers.
func someSteps(run *rows.Run, numbers map[int64]bool, offset int64) *rows.Run {
	some := *run
	some.Steps, some.Open = nil, nil
	for i := range run.Steps {
		if numbers[int64(run.Steps[i].Step)-offset] {
			some.Steps = append(some.Steps, run.Steps[i])
		}
	}
	for _, at := range run.Open {
		if numbers[int64(at.Step)-offset] {
			some.Open = append(some.Open, at)
		}
	}
	return &some
}

// forgetPlaces drops the pairing of places, since it may change.
func (w *watch) forgetPlaces() {
	for _, s := range w.steps {
		s.sides = [2]map[uint32]store.Standing{{}, {}}
		for _, p := range s.places {
			p.gone = true
		}
	}
}

// noteStep takes how far both runs are with a place.
func (w *watch) noteStep(at pair.Step) {
	number, rank := int64(at.Step), w.r.Compare.Rank
	if number < w.from || !w.r.Compare.Steps.Contains(number) || rank >= 0 && int64(at.Rank) != rank {
		return
	}
	var standing [2]store.Standing
	s := w.step(number)
	if at.InProblem {
		standing[0] = w.takeStanding(s, 0, rows.Place{Rank: at.Rank, Step: at.Step})
	}
	if at.InBench {
		standing[1] = w.takeStanding(s, 1, rows.Place{Rank: at.BenchRank, Step: at.BenchStep})
	}
	p := s.places[at.Rank]
	if p == nil {
		p = &place{}
		s.places[at.Rank] = p
	}
	p.gone = false
	if p.at == at && p.standing == standing {
		return
	}
	p.at, p.standing, p.dirty, p.outcome = at, standing, true, nil
	s.dirty, s.said, s.changed, w.changed = true, false, w.asked, w.asked
}

func (w *watch) takeStanding(s *step, side int, at rows.Place) store.Standing {
	standing := w.follower.Runs()[side].Standing[at]
	w.sides[side].ranks[at.Rank] = true
	s.sides[side][at.Rank] = standing
	return standing
}

// busy reports the present work.
func (w *watch) busy() {
	var count uint64
	last := w.from
	for number, s := range w.steps {
		last = max(last, number)
		count += s.rows()
	}
	w.r.Busy(fmt.Sprintf("%s judged, at step %d, %s since step %d", plural.Of(w.judged, "step"), last, plural.Of(count, "row"), w.from))
}

// runsEnded says whether nothing more will come of either run.
func (w *watch) runsEnded(ctx context.Context) (bool, error) {
	w.finish()
	if w.asked.Sub(w.changed) < w.r.Idle || len(w.whole()) > 0 {
		return false, nil
	}
	if stored, err := w.database.Stored(ctx); err != nil || !stored {
		return false, err
	}
	living, err := w.database.Living(ctx)
	if err != nil {
		return false, err
	}
	if living {
		w.changed = w.asked // look again later
		return false, nil
	}
	// Rows stored since the runs were measured are not judged yet.
	before := w.changed
	if err := w.measure(ctx); err != nil || w.changed != before {
		return false, err
	}
	if err := w.leaveOut(ctx); err != nil {
		return false, err
	}
	w.gaps, err = w.database.Gaps(ctx)
	return err == nil, err
}
