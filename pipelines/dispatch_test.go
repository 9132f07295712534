package pipelines

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/tensortap/tensortap/schemas"
)

// testDispatcher writes with the given function and needs no stream.
func testDispatcher(group *errgroup.Group, write func(*batch) []*held) *dispatcher {
	cfg := DefaultConfig()
	cfg.Deliver.BatchRows = 250_000
	d := &Delivery{cfg: cfg, now: time.Now, pressure: make(chan struct{}, 1)}
	p := newDispatcher(context.Background(), context.Background(), d, group)
	p.write = write
	return p
}

func heldOf(kind string, rows int) *held {
	return &held{message: schemas.Message{Header: schemas.Header{Kind: kind, Rows: rows}}, size: 100}
}

func TestBatchIsWrittenWhenOldOrFull(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var group errgroup.Group
		received, written := make(chan *held), make(chan *batch, 9)
		p := testDispatcher(&group, func(b *batch) []*held {
			written <- b
			return nil
		})
		group.Go(func() error { return p.run(received) })
		begin := time.Now()
		received <- heldOf("op", 1)
		received <- heldOf("tensor", 200_000)
		received <- heldOf("tensor", 100_000) // does not fit into the first batch
		if b := <-written; b.rows != 200_000 || time.Since(begin) != 0 {
			t.Errorf("first write: %d rows after %v, want the full batch of 200000 at once", b.rows, time.Since(begin))
		}
		rows := (<-written).rows + (<-written).rows
		if age := time.Since(begin); rows != 100_001 || age != p.delivery.cfg.Deliver.BatchAge {
			t.Errorf("young batches: %d rows after %v, want 100001 after %v", rows, age, p.delivery.cfg.Deliver.BatchAge)
		}
		close(received)
		if err := group.Wait(); err != nil {
			t.Error(err)
		}
	})
}

func TestSmallWritesOfAKindKeepTheirDistance(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var group errgroup.Group
		received, written := make(chan *held), make(chan time.Duration, 9)
		begin := time.Now()
		p := testDispatcher(&group, func(*batch) []*held {
			written <- time.Since(begin)
			return nil
		})
		age, spacing := 100*time.Millisecond, 400*time.Millisecond
		p.delivery.cfg.Deliver.BatchAge, p.delivery.cfg.Deliver.Spacing = age, spacing
		group.Go(func() error { return p.run(received) })
		received <- heldOf("tensor", 1)
		first := <-written
		received <- heldOf("tensor", 1)
		second := <-written
		received <- heldOf("tensor", worthwhile)
		large := <-written
		received <- heldOf("tensor", p.delivery.cfg.Deliver.BatchRows)
		full := <-written
		time.Sleep(time.Hour)
		received <- heldOf("tensor", 1)
		if last := <-written; first != age || second != age+spacing || large != second+age || full != large || last != full+time.Hour+age {
			t.Errorf("written after %v, %v, %v, %v and %v", first, second, large, full, last)
		}
		close(received)
		if err := group.Wait(); err != nil {
			t.Error(err)
		}
	})
}

func TestDispatcherWritesAllItHoldsOnceTheReceiverEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var group errgroup.Group
		received := make(chan *held)
		messages := 0
		p := testDispatcher(&group, func(b *batch) []*held {
			time.Sleep(10 * time.Second) // the store takes its time
			messages += len(b.items)
			return nil
		})
		group.Go(func() error { return p.run(received) })
		received <- heldOf("tensor", 250_000)
		for range 5 {
			received <- heldOf("tensor", 100_000)
		}
		close(received)
		if err := group.Wait(); err != nil || messages != 6 {
			t.Errorf("%d messages written when the receiver ended mid-write, %v, want 6", messages, err)
		}
	})
}

func TestGraceBeginsWhenTheContextEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		work, end := withGrace(ctx, 10*time.Second)
		defer end()
		time.Sleep(time.Minute)
		cancel()
		time.Sleep(9 * time.Second)
		if work.Err() != nil {
			t.Errorf("work ended within the grace: %v", work.Err())
		}
		time.Sleep(2 * time.Second)
		if work.Err() == nil {
			t.Error("work goes on after the grace")
		}
	})
}

func TestBackoffIsBounded(t *testing.T) {
	t.Parallel()
	b := backoff{least: 10 * time.Millisecond, most: time.Second}
	for range 100 {
		if d := b.next(); d < 5*time.Millisecond || d > time.Second {
			t.Fatalf("pause %v, want 5ms to 1s", d)
		}
	}
	b.reset()
	if d := b.next(); d > 10*time.Millisecond {
		t.Errorf("pause %v after a success, want at most 10ms", d)
	}
}
