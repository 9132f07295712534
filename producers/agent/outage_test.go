package agent_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tensortap/tensortap/internal/dev/testbed"
	"github.com/tensortap/tensortap/producers/agent"
	"github.com/tensortap/tensortap/schemas"
)

// full is a stream that takes nothing until it is opened.
type full struct {
	*log

	open chan struct{}
}

func (f *full) Publish(ctx context.Context, m schemas.Message) error {
	select {
	case <-f.open:
		return f.log.Publish(ctx, m)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func TestTheProcessSeesAnAgentWhileTheStreamTakesNothing(t *testing.T) {
	t.Parallel()
	root, l := t.TempDir(), newLog(t)
	f := &full{log: l, open: make(chan struct{})}
	s := testbed.NewSpool(t, root, testbed.SpoolOptions{Run: "bad", Epoch: 1, SegmentRows: 64})
	cfg := config(t, root, l)
	cfg.Stream.NewPublisher = func() (agent.Publisher, error) { return f, nil }
	for step := range uint32(10) {
		s.Step(step, 10)
	}
	opening := sync.OnceFunc(func() { close(f.open) })
	var looked time.Time
	looks := 0
	serveUntil(t, cfg, func() bool {
		at, released := s.Looked()
		if !at.Equal(looked) {
			looked = at
			looks++
		}
		if looks < 10 {
			if released != 0 {
				t.Errorf("%d segments are released that the stream does not have", released)
			}
			return false
		}
		opening()
		s.Close()
		return len(rows[schemas.StepRow](l)) == 10
	})
	onceEach(t, l, 1, 10, 20)
}

func TestASegmentThatIsCutShortWhileItIsReadIsAnError(t *testing.T) {
	t.Parallel()
	root, l := t.TempDir(), newLog(t)
	s := testbed.NewSpool(t, root, testbed.SpoolOptions{Run: "bad", Epoch: 1})
	s.Step(0, 1)
	var cut, told atomic.Bool
	cfg := config(t, root, l)
	cfg.Tell = func(text string) {
		t.Log(text)
		told.Store(told.Load() || strings.Contains(text, "cannot serve"))
	}
	serveUntil(t, cfg, func() bool {
		if len(rows[schemas.StepRow](l)) == 1 && !cut.Swap(true) {
			if err := os.Truncate(filepath.Join(s.Dir, "rows-00000000"), 0); err != nil {
				t.Fatal(err)
			}
		}
		return told.Load()
	})
}
