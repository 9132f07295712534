package agent_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tensortap/tensortap/internal/dev/testbed"
	"github.com/tensortap/tensortap/producers/agent"
	"github.com/tensortap/tensortap/schemas"
)

// contiguous fails the test unless the batches of each kind of each process count from 0 without gaps.
func contiguous(tb testing.TB, l *log) {
	tb.Helper()
	next := map[string]uint64{}
	for _, m := range l.order {
		id := m.Header.Identity
		key := fmt.Sprintf("%s/%d/%d", m.Header.Kind, id.Rank, id.Epoch)
		if id.Batch != next[key] {
			tb.Errorf("message %s, want batch %d", m.ID(), next[key])
		}
		next[key]++
	}
}

// defined fails the test unless the layout of each tensor was handed over before it.
func defined(tb testing.TB, l *log) {
	tb.Helper()
	layouts := map[uint64]bool{}
	for _, m := range l.order {
		for _, r := range rowsOf[schemas.LayoutRow](tb, m) {
			layouts[r.LayoutID] = true
		}
		for _, r := range rowsOf[schemas.TensorRow](tb, m) {
			if !layouts[r.LayoutID] {
				tb.Errorf("record %d of epoch %d came before its layout", r.Seq, r.Epoch)
			}
		}
	}
}

// onceEach fails the test unless there are so many steps of so many tensors, each step and tensor once.
func onceEach(tb testing.TB, l *log, processes, steps, tensors int) {
	tb.Helper()
	type place struct {
		epoch uint64
		step  uint32
	}
	seen := map[place]int{}
	type record struct{ epoch, seq uint64 }
	records := map[record]bool{}
	for _, r := range rows[schemas.TensorRow](l) {
		seen[place{r.Epoch, r.Step}]++
		if records[record{r.Epoch, r.Seq}] {
			tb.Errorf("record %d of epoch %d came twice", r.Seq, r.Epoch)
		}
		records[record{r.Epoch, r.Seq}] = true
	}
	ended := map[place]bool{}
	for _, s := range rows[schemas.StepRow](l) {
		at := place{s.Epoch, s.Step}
		if ended[at] || s.Complete != 1 || s.DroppedCount != 0 || seen[at] != tensors || s.TensorCount != uint64(tensors) {
			tb.Errorf("step %d of epoch %d: twice %v, %d tensors stored, %+v", s.Step, s.Epoch, ended[at], seen[at], s)
		}
		ended[at] = true
	}
	if len(ended) != processes*steps || len(records) != processes*steps*tensors {
		tb.Errorf("%d steps of %d tensors, want %d of %d", len(ended), len(records), processes*steps, processes*steps*tensors)
	}
}

func TestAnAgentThatIsStoppedAnywhereMakesTheSameMessagesAgain(t *testing.T) {
	t.Parallel()
	const steps, modules, numbers = 200, 20, 8
	root, l := t.TempDir(), newLog(t)
	random, chance := rand.New(rand.NewPCG(1, 2)), rand.New(rand.NewPCG(3, 4))
	l.before = func(schemas.Message) error {
		if chance.IntN(30) == 0 {
			return errors.New("the agent is gone")
		}
		return nil
	}
	writers := []*testbed.Spool{
		testbed.NewSpool(t, root, testbed.SpoolOptions{Run: "bad", Rank: 0, Epoch: 1, SegmentRows: 256, Numbers: numbers}),
		testbed.NewSpool(t, root, testbed.SpoolOptions{Run: "bad", Rank: 1, Epoch: 2, SegmentRows: 300, Numbers: numbers}),
	}
	cfg := config(t, root, l)
	cfg.Tell, cfg.BatchRows, cfg.WindowRecords, cfg.CheckpointRows, cfg.RetryAfter = func(string) {}, 64, 1<<16, 500, time.Millisecond
	var written atomic.Bool
	go func() {
		for step := range uint32(steps) {
			for _, s := range writers {
				s.Step(step, modules)
			}
			time.Sleep(time.Millisecond) // so that windows end where chance has it
		}
		for _, s := range writers {
			s.Close()
		}
		written.Store(true)
	}()
	gone := empty(t, root)
	starts := 0
	for deadline := time.Now().Add(20 * time.Minute); !written.Load() || !gone(); starts++ {
		if time.Now().After(deadline) {
			t.Fatalf("not done after %d starts", starts)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(random.IntN(30+starts))*time.Millisecond)
		if err := agent.New(cfg).Run(ctx); err != nil {
			t.Error(err)
		}
		cancel()
	}
	t.Logf("%d agents, %d messages, %d of them sent again", starts, len(l.order), l.repeated)
	if l.repeated == 0 {
		t.Error("nothing was sent again: the test tries nothing")
	}
	onceEach(t, l, len(writers), steps, 2*modules+numbers)
	contiguous(t, l)
	defined(t, l)
}

func TestSegmentsGoWhenTheStreamHasThem(t *testing.T) {
	t.Parallel()
	root, l := t.TempDir(), newLog(t)
	s := testbed.NewSpool(t, root, testbed.SpoolOptions{Run: "bad", Epoch: 1, SegmentRows: 128})
	cfg := config(t, root, l)
	cfg.CheckpointRows = 256
	for step := range uint32(20) {
		s.Step(step, 20)
	}
	early := s.Head.NextSegment
	again := sync.OnceFunc(func() {
		for step := range uint32(20) {
			s.Step(20+step, 20)
		}
	})
	serveUntil(t, cfg, func() bool {
		_, first := s.Looked()
		if first > 5 {
			again()
		}
		return first > early
	})
	looked, first := s.Looked()
	if age := time.Since(looked); age > 10*time.Second {
		t.Errorf("the agent looked %v ago", age)
	}
	left, err := filepath.Glob(filepath.Join(s.Dir, "rows-*"))
	if err != nil || len(left) != int(s.Head.NextSegment-first) {
		t.Errorf("%d segments are left, %d made, the first not released is %d", len(left), s.Head.NextSegment, first)
	}
	if _, err := os.Stat(filepath.Join(s.Dir, fmt.Sprintf("rows-%08d", first))); err != nil {
		t.Error(err)
	}
}
