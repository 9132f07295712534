package clickhouse_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/tensortap/tensortap/schemas"
)

// kills is the number of kills of the soak tests: 10, or TENSORTAP_SOAK_KILLS.
func kills(t *testing.T) int64 {
	t.Helper()
	text := os.Getenv("TENSORTAP_SOAK_KILLS")
	if text == "" {
		return 10
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		t.Fatalf("TENSORTAP_SOAK_KILLS: %v", err)
	}
	return n
}

// TestKilledEngineHoldsEachBatchOnce writes without a pause while the engine
// is killed again and again, and writes each call until it succeeds, as the
// delivery loop does. Now and then the writer is a new one, as after a kill of
// its own process, and old messages come again.
func TestKilledEngineHoldsEachBatchOnce(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	want := kills(t)
	var done atomic.Bool
	var stored atomic.Int64 // calls
	var killing errgroup.Group
	killing.Go(func() error {
		defer done.Store(true)
		r := rand.New(rand.NewPCG(1, 1))
		for range want {
			for before := stored.Load(); stored.Load() == before && t.Context().Err() == nil; {
				time.Sleep(time.Millisecond)
			}
			time.Sleep(time.Duration(r.IntN(200)) * time.Millisecond)
			if err := s.kill(t.Context()); err != nil {
				return err
			}
		}
		return nil
	})
	r := rand.New(rand.NewPCG(2, 2))
	const each, rows = 12, 4000
	calls := make(chan []schemas.Message, 4) // made ahead, so that a kill meets a write
	var making errgroup.Group
	making.Go(func() error {
		defer close(calls)
		for first := uint64(0); !done.Load(); first += each {
			calls <- tensorMessages(t, first, each, rows)
		}
		return nil
	})
	w := s.writer(t)
	var first, doubts, resolved uint64
	var last []schemas.Message
	for messages := range calls {
		first += each
		for w.Write(t.Context(), slices.Concat(messages, last)) != nil {
			if r.IntN(4) == 0 {
				doubts, resolved = doubts+w.Counts().Doubts, resolved+w.Counts().Resolved
				w = s.writer(t)
			}
			time.Sleep(20 * time.Millisecond)
		}
		last = messages
		stored.Add(1)
	}
	if err := errors.Join(making.Wait(), killing.Wait()); err != nil {
		t.Fatal(err)
	}
	doubts, resolved = doubts+w.Counts().Doubts, resolved+w.Counts().Resolved
	t.Logf("%d kills, %d messages, %d inserts in doubt, %d messages of them were stored", want, first, doubts, resolved)
	if got := s.number(t, "SELECT uniqExact(batch) FROM tap_store.tensor"); got != first {
		t.Errorf("tensor holds %d batches, want %d", got, first)
	}
	if got := s.number(t, "SELECT count() FROM (SELECT batch, count() AS n FROM tap_store.tensor GROUP BY batch) WHERE n != "+strconv.Itoa(rows)); got != 0 {
		t.Errorf("%d batches are stored twice or in part, want none", got)
	}
}

// kill kills the engine with -9 and waits until another answers.
func (s *server) kill(ctx context.Context) error {
	before := s.engine.Restarts()
	if pid := s.engine.PID(); pid != 0 {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			return err
		}
	}
	for s.engine.Restarts() == before || s.conn.Ping(ctx) != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		time.Sleep(5 * time.Millisecond)
	}
	return nil
}
