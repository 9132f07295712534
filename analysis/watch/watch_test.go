package watch

import (
	"context"
	"errors"
	"math"
	"testing"
	"time"

	"github.com/tensortap/tensortap/analysis/report"
	"github.com/tensortap/tensortap/analysis/rows"
	"github.com/tensortap/tensortap/analysis/rows/store"
	"github.com/tensortap/tensortap/internal/dev/testbed"
)

const (
	soon = 100 * time.Millisecond
	rest = time.Second     // after which a step is whole
	idle = 5 * time.Second // time after which an incomplete step is judged as it is
)

func TestAWatchSaysWhatBecomesOfSteps(t *testing.T) {
	t.Parallel()
	d := testbed.StartDatabase(t)
	plain, other := outputs("a.0 b.0 c.0 d.0", 1, 2, 3, 4), outputs("a.0 b.0 c.0 d.0", 1, 2, 9, 4)
	for name, play := range map[string]func(*scene){
		"a divergence is said before its step has ended": func(s *scene) {
			s.bench.whole(0, plain...)
			s.problem.gave(0, plain[:2]...)
			s.look(soon)
			s.problem.gave(0, other[2])
			s.look(soon, "diverged at step 0 rank 0 Functional.c.0.forward within true")
			s.problem.gave(0, other[3])
			s.problem.end(0, other...)
			s.look(soon)
			s.look(rest, "step 0 differs: 4 paired, 0 + 0 alone, 1 differ ")
			s.look(idle, "end differs")
		},
		"what landed out of order is said once the rest is there": func(s *scene) {
			s.bench.whole(0, plain...)
			s.problem.gave(0, other[2:]...)
			s.look(soon)
			s.problem.gave(0, plain[:2]...)
			s.look(soon, "diverged at step 0 rank 0 Functional.c.0.forward within true")
		},
		"nothing is said behind where the orders part": func(s *scene) {
			s.bench.whole(0, plain...)
			s.problem.gave(0, outputs("a.0 x.0 c.0", 1, 2, 9)...)
			s.look(soon)
		},
		"steps that agree do so once they are at rest": func(s *scene) {
			s.bench.whole(0, plain...)
			s.problem.whole(0, plain...)
			s.look(soon)
			s.look(rest, "step 0 agree: 4 paired, 0 + 0 alone, 0 differ ")
			s.look(soon)
			s.look(idle, "end same")
		},
		"steps that a budget left out leave nothing in doubt": func(s *scene) {
			for step := range uint32(3) {
				s.problem.whole(step, plain...)
			}
			s.bench.whole(0, plain...)
			s.bench.leftOut(2, 1)
			s.bench.whole(2, plain...)
			s.look(soon)
			s.look(rest, "step 0 agree: 4 paired, 0 + 0 alone, 0 differ ", "step 2 agree: 4 paired, 0 + 0 alone, 0 differ ")
			s.look(idle, "end same, left out 0 and 1")
		},
		"steps of one run alone do": func(s *scene) {
			for step := range uint32(2) {
				s.problem.whole(step, plain...)
			}
			s.bench.whole(0, plain...)
			s.look(soon)
			s.look(rest, "step 0 agree: 4 paired, 0 + 0 alone, 0 differ ")
			s.look(idle, "end unknown")
		},
		"NaN is a divergence": func(s *scene) {
			s.bench.whole(0, plain...)
			s.problem.whole(0, outputs("a.0 b.0 c.0 d.0", 1, math.NaN(), 3, 4)...)
			s.look(soon, "not_finite at step 0 rank 0 Functional.b.0.forward within false")
		},
		"of an empty step nothing can be said": func(s *scene) {
			s.bench.end(0)
			s.problem.end(0)
			s.look(soon)
			s.look(rest, "step 0 unknown: 0 paired, 0 + 0 alone, 0 differ ")
		},
		"programs that differ are aligned": func(s *scene) {
			s.bench.whole(0, plain...)
			s.problem.whole(0, outputs("a.0 x.0 b.0 c.0 d.0", 1, 7, 2, 3, 4)...)
			s.look(soon)
			s.look(rest, "step 0 agree: 4 paired, 1 + 0 alone, 0 differ ")
		},
		"a step that is replaced is judged again": func(s *scene) {
			s.bench.whole(0, plain...)
			s.problem.whole(0, plain...)
			s.look(soon)
			s.look(rest, "step 0 agree: 4 paired, 0 + 0 alone, 0 differ ")
			s.problem.restart()
			s.problem.whole(0, other...)
			s.look(soon, "diverged at step 0 rank 0 Functional.c.0.forward within false")
			s.look(rest, "step 0 differs: 4 paired, 0 + 0 alone, 1 differ ")
		},
		"what a rank left behind when it was restarted does not count": func(s *scene) {
			s.bench.whole(0, plain...)
			s.problem.gave(0, plain[:3]...)
			s.look(soon)
			s.problem.restart()
			s.problem.whole(0, plain...)
			s.look(soon)
			s.look(rest, "step 0 agree: 4 paired, 0 + 0 alone, 0 differ ")
		},
		"a rank that died is waited for, and then said": func(s *scene) {
			s.bench.whole(0, plain...)
			s.problem.gave(0, plain[:3]...)
			s.look(soon)
			s.look(rest)
			s.look(idle, "step 0 unknown: 3 paired, 0 + 0 alone, 0 differ run "+s.problem.name+" rank 0: the step has not ended, 3 rows so far", "end unknown")
		},
		"rows that are not stored yet are lacking": func(s *scene) {
			s.bench.whole(0, plain...)
			s.problem.gave(0, plain[:3]...)
			s.problem.end(0, plain...)
			s.look(soon)
			s.look(rest)
			s.problem.gave(0, plain[3])
			s.look(soon)
			s.look(rest, "step 0 agree: 4 paired, 0 + 0 alone, 0 differ ")
		},
		"an earlier divergence is said after a later one": func(s *scene) {
			s.bench.whole(0, plain...)
			s.bench.whole(1, plain...)
			s.problem.whole(1, other...)
			s.look(soon, "diverged at step 1 rank 0 Functional.c.0.forward within false")
			s.problem.whole(0, other...)
			s.look(soon, "diverged at step 0 rank 0 Functional.c.0.forward within false")
		},
	} {
		play(newScene(t, d, name))
	}
}

func TestAWatchAskedToEndAtTheFirstDivergenceDoes(t *testing.T) {
	t.Parallel()
	s := newScene(t, testbed.StartDatabase(t), "until")
	s.w.r.UntilDiverged = true
	s.bench.whole(0, outputs("a.0", 1)...)
	s.problem.gave(0, outputs("a.0", 2)...)
	s.look(soon, "diverged at step 0 rank 0 Functional.a.0.forward within true", "end differs")
}

func TestADatabaseThatIsAwayIsSaidOnce(t *testing.T) {
	t.Parallel()
	s := newScene(t, testbed.StartDatabase(t), "away")
	s.bench.whole(0, outputs("a.0", 1)...)
	s.problem.whole(0, outputs("a.0", 1)...)
	s.look(soon)
	for range 2 {
		if err := s.w.endure(errors.New("refused")); err != nil {
			t.Fatal(err)
		}
	}
	if len(s.said) != 1 || s.said[0] != "waiting the database: refused" {
		t.Errorf("said %q, want once that the database is away", s.said)
	}
	s.look(rest, "step 0 agree: 1 paired, 0 + 0 alone, 0 differ ", "going_on the database")
}

func TestARequestThatCannotBeMetIsRefused(t *testing.T) {
	t.Parallel()
	r := DefaultRequest()
	r.Say, r.Now = func(*report.WatchEvent) error { return nil }, time.Now
	r.Connect = func(context.Context) (*Database, error) { return nil, errors.New("nobody there") }
	if err := r.Validate(); err == nil {
		t.Error("no bench: no error")
	}
	r.Compare.Benches = []string{"good"}
	if _, err := Run(t.Context(), r); err == nil {
		t.Error("a database that never was there: no error")
	}
	r.Idle = 0
	if err := r.Validate(); err == nil {
		t.Error("idle for less than a step needs to settle: no error")
	}
}

func TestFollowingStepsAreReadAheadOnce(t *testing.T) {
	t.Parallel()
	whole := func(step uint32) (rows.Place, store.Standing) {
		return rows.Place{Step: step}, store.Standing{Rows: rowsAhead / 2, Produced: rowsAhead / 2, Ended: true, Complete: true}
	}
	s := newShelf(nil, &store.Followed{Run: &rows.Run{}, Standing: map[rows.Place]store.Standing{}})
	for step := range uint32(6) {
		at, standing := whole(step)
		s.run.Standing[at] = standing
		s.run.Run.Steps = append(s.run.Run.Steps, stepRow(at))
	}
	if ahead := s.following([]rows.Place{{Step: 0}}); len(ahead) != 2 || ahead[0].Step != 1 {
		t.Errorf("after step 0: %v, want steps 1 and 2", ahead)
	}
	if ahead := s.following([]rows.Place{{Step: 1}}); len(ahead) != 2 || ahead[0].Step != 3 {
		t.Errorf("after that: %v, want steps 3 and 4", ahead)
	}
}
