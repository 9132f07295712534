package roles

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/tensortap/tensortap/internal/dev/testbed"
	"github.com/tensortap/tensortap/schemas"
)

// The ranks of a month.
const (
	hosts        = 4
	monthRanks   = 64
	monthSteps   = 24
	monthModules = 4
	flawedRank   = 37
	flawedSince  = 6 // step
	flawedModule = 2
	benchRun     = "bench"
	baselineName = "release"
	pinnedDay    = 2
)

// flaw is what goes wrong with one rank of a run.
type flaw int

const (
	flawless flaw = iota
	turnsNaN
	diverges
	leaks
	fallsSilent
	straggles
	flaws // how many there are
)

func runOf(day int) string { return fmt.Sprintf("train-%02d", day) }

// flawOf is another one each day, and none at last.
func flawOf(day int) flaw { return flaw(day % int(flaws)) }

// alertsOf are the rules that have to tell of a flaw. A run that differs from its bench does so by its baseline, too.
func alertsOf(f flaw) []string {
	return map[flaw][]string{
		turnsNaN: {"first-nan", "first-divergence", "baseline-verdict"}, diverges: {"first-divergence", "baseline-verdict"},
		leaks: {"memory-growth"}, fallsSilent: {"rank-silent"}, straggles: {"straggler"},
	}[f]
}

// planted is what receivers have to be told.
func (m *month) planted() (all []plant) {
	for day := 1; day <= m.days; day++ {
		for _, rule := range alertsOf(flawOf(day)) {
			all = append(all, plant{rule, runOf(day)})
		}
	}
	return all
}

// written is what the ranks of a run have written: what must be stored, no less and no more.
type written struct {
	run            string
	ended          time.Time
	steps, tensors int
	differing      int     // steps, from those of the bench
	sum            float64 // of the means that are finite; exact, as all are multiples of 1/64 and small
}

// took enters a step of one rank.
func (w *written) took(step uint32, by float64) {
	w.steps++
	w.tensors += 2 * monthModules
	w.sum += float64(2 * monthModules * step)
	if by != 0 {
		w.differing++
	}
	if math.IsNaN(by) { // in the place of the output of that module
		w.sum -= float64(step) - flawedModule/64.0
	} else {
		w.sum += by
	}
}

// ranksOfFleet are the processes of training on all hosts.
type ranksOfFleet struct {
	t       *testing.T
	roots   []string // of the spools, by host
	written map[string]*written
	epochs  uint64
}

// work is a run from its begin to its end, a step of all ranks at a time.
func (r *ranksOfFleet) work(run string, f flaw, rest time.Duration) error {
	owner := &testbed.Keeper{TB: r.t}
	defer owner.End()
	w := &written{run: run}
	ranks := r.start(owner, run)
	for step := range uint32(monthSteps) {
		for rank, s := range ranks {
			if f != fallsSilent || rank != flawedRank || step < flawedSince {
				r.step(s, w, step, rank == flawedRank, f)
			}
		}
		time.Sleep(rest)
	}
	if f == fallsSilent { // it wakes up
		for step := uint32(flawedSince); step < monthSteps; step++ {
			r.step(ranks[flawedRank], w, step, true, f)
		}
	}
	for _, s := range ranks {
		s.Close()
	}
	w.ended = time.Now()
	r.written[run] = w
	return owner.Err()
}

func (r *ranksOfFleet) start(owner *testbed.Keeper, run string) []*testbed.Spool {
	kind := "train"
	if run == benchRun {
		kind = "bench"
	}
	ranks := make([]*testbed.Spool, monthRanks)
	for rank := range ranks {
		r.epochs++
		ranks[rank] = testbed.NewSpool(owner, r.roots[rank*hosts/monthRanks], testbed.SpoolOptions{
			Run: run, Rank: uint32(rank), Epoch: r.epochs, SegmentRows: 4096, //nolint:gosec // few
			Fields: map[string]any{"world_size": monthRanks, "labels": map[string]string{"kind": kind}},
		})
	}
	return ranks
}

// step is one step of one rank, with a sign of life.
func (*ranksOfFleet) step(s *testbed.Spool, w *written, step uint32, flawed bool, f flaw) {
	flawed = flawed && step >= flawedSince
	by, memory := 0.0, uint64(1<<30)
	s.Clock = time.Now().UnixNano()
	s.Begin(step)
	switch {
	case flawed && f == turnsNaN:
		by = math.NaN()
	case flawed && f == diverges:
		by = 64
	case flawed && f == leaks:
		memory += uint64(step) << 20
	case flawed && f == straggles:
		s.Clock += int64(100 * time.Millisecond)
	}
	s.Fault(fmt.Sprintf("Module.layers.%d.Linear.forward.0", flawedModule), float32(by))
	s.Forward(step, monthModules)
	s.Put(schemas.SpoolMemoryKind, &schemas.SpoolMemory{Device: s.Text("cpu"), TimeNs: s.Clock, HostResidentBytes: memory})
	s.End(step, 0)
	w.took(step, by)
	s.Head.HeartbeatNs, s.Head.Step = time.Now().UnixNano(), step
	s.WriteHead()
}
