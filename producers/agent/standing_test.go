package agent_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/tensortap/tensortap/internal/dev/testbed"
	"github.com/tensortap/tensortap/producers/agent"
	"github.com/tensortap/tensortap/schemas"
)

func TestWhatProcessesDropIsCountedOnceWhileTheyLiveAndAfterwards(t *testing.T) {
	t.Parallel()
	root, l := t.TempDir(), newLog(t)
	s := testbed.NewSpool(t, root, testbed.SpoolOptions{Run: "bad", Epoch: 1})
	other := testbed.NewSpool(t, root, testbed.SpoolOptions{Run: "bad", Epoch: 2})
	s.Step(0, 1)
	s.Head.DroppedCount = 3
	s.WriteHead()
	a := agent.New(config(t, root, l))
	dropped := a.Counts().Dropped.Load
	step := 0
	gone := empty(t, root)
	runUntil(t, a, func() bool {
		switch {
		case step == 0 && dropped() == 3: // before it was served, and while it lives
			s.Head.DroppedCount = 5
			s.WriteHead()
			step++
		case step == 1 && dropped() == 5:
			s.Head.DroppedCount = 8 // at its very end
			s.WriteHead()
			s.Close()
			other.Close()
			step++
		}
		return step == 2 && gone()
	})
	if got := dropped(); got != 8 {
		t.Errorf("%d records are counted as dropped, want 8", got)
	}
}

func TestHowLongEventsWaitAndWhatTheyTake(t *testing.T) {
	t.Parallel()
	root, l := t.TempDir(), newLog(t)
	s := testbed.NewSpool(t, root, testbed.SpoolOptions{Run: "bad", Epoch: 1})
	s.Step(0, 1)
	away := true
	l.before = func(schemas.Message) error {
		if away {
			return errors.New("the stream is away")
		}
		return nil
	}
	a := agent.New(config(t, root, l))
	runUntil(t, a, func() bool {
		if a.Counts().Failures.Load() == 0 {
			return false
		}
		l.mutex.Lock()
		defer l.mutex.Unlock()
		away = false
		return true
	})
	if folders, bytes := a.Kept(); folders != 1 || bytes == 0 {
		t.Errorf("%d folders with %d bytes, want one with some", folders, bytes)
	}
	s.Close()
	runUntil(t, agent.New(config(t, root, l)), empty(t, root))
	if folders, bytes := a.Kept(); folders != 0 || bytes != 0 {
		t.Errorf("%d folders with %d bytes, want none", folders, bytes)
	}
}

func TestTheOldestEventThatWaitsIsTimed(t *testing.T) {
	t.Parallel()
	root, l := t.TempDir(), newLog(t)
	s := testbed.NewSpool(t, root, testbed.SpoolOptions{Run: "bad", Epoch: 1})
	s.Step(0, 1)
	stuck := make(chan struct{})
	cfg := config(t, root, l)
	cfg.Stream.NewPublisher = func() (agent.Publisher, error) { return stuckPublisher{l, stuck}, nil }
	a := agent.New(cfg)
	waited := false
	runUntil(t, a, func() bool {
		if !waited && a.Waiting() > 20*time.Millisecond {
			waited = true
			close(stuck)
		}
		return waited && a.Waiting() == 0
	})
	s.Close()
}

// stuckPublisher takes messages, and acknowledges none until the channel is closed.
type stuckPublisher struct {
	*log
	stuck chan struct{}
}

func (p stuckPublisher) Flush(ctx context.Context) error {
	select {
	case <-p.stuck:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func TestSpoolsTellWhoseTheyAreAndWhetherAnAgentReadsThem(t *testing.T) {
	t.Parallel()
	root, l := t.TempDir(), newLog(t)
	if found, err := agent.Spools(filepath.Join(root, "nowhere")); err != nil || len(found) != 0 {
		t.Errorf("%v, %v: a root that is not there has no spools", found, err)
	}
	s := testbed.NewSpool(t, root, testbed.SpoolOptions{Run: "bad", Epoch: 1})
	s.Step(0, 1)
	s.Head.DroppedCount = 3
	s.WriteHead()
	if err := os.Mkdir(filepath.Join(root, "5-00000000000000ff"), 0o700); err != nil { // that its process is making
		t.Fatal(err)
	}
	found, err := agent.Spools(root)
	if err != nil || len(found) != 2 {
		t.Fatalf("%+v, %v, want two", found, err)
	}
	made := found[0]
	if made.Run == "" {
		made = found[1]
	}
	if made.Run != "bad" || made.Dropped != 3 || made.Bytes == 0 || made.PID == 0 || !made.Looked.IsZero() || made.Ended {
		t.Errorf("%+v, want run bad with 3 dropped, which no agent has looked at", made)
	}
	a := agent.New(config(t, root, l))
	runUntil(t, a, func() bool {
		found, err := agent.Spools(root)
		return err == nil && len(found) > 0 && (time.Since(found[0].Looked) < time.Minute || time.Since(found[len(found)-1].Looked) < time.Minute)
	})
}
