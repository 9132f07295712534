// Package consumertest holds the promises that every consumer keeps, as one
// suite: [Exercise]. A consumer's own test gives it a [Store] and adds only
// what is special to that consumer.
package consumertest

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/tensortap/tensortap/schemas"
)

// Write is a consumer's Write, which the delivery loop calls: nil means that
// all messages are durable, a *schemas.RejectedError that all are but those
// listed, and any other error that the same messages must be written again.
type Write func(ctx context.Context, messages []schemas.Message) error

// Store is one place that a consumer stores into, empty at first.
type Store interface {
	// Open returns the Write of a new consumer on the store, as a new process would have it. The
	// last consumer is abandoned, as by a kill, and not used again.
	Open(t *testing.T) Write
	// Rows returns every stored row of kind as Text or RecordTexts makes it,
	// in any order; of a definition that was stored several times, one.
	Rows(t *testing.T, kind string) []string
	// Break makes the store fail every write until Mend, as a server that is
	// down or a disk that is full. A consumer that is open stays open.
	Break(t *testing.T)
	// Mend undoes Break.
	Mend(t *testing.T)
}

// Exercise runs the suite. It asks for a store per promise, one at a time.
func Exercise(t *testing.T, newStore func(t *testing.T) Store) {
	t.Helper()
	promises := []struct {
		name string
		test func(t trial)
	}{
		{"every kind is stored with every value", trial.storesEveryKind},
		{"an empty call stores nothing", trial.storesNothing},
		{"a batch delivered twice counts once", trial.countsOnceWhenTwiceDelivered},
		{"a batch that stands twice in a call counts once", trial.countsOnceInOneCall},
		{"a late batch of old ones counts once", trial.countsOnceOutOfOrder},
		{"a cancelled write is finished by the next", trial.survivesCancellation},
		{"a kill before the acknowledgement changes nothing", trial.survivesKill},
		{"a malformed message is rejected and the rest is stored", trial.rejectsMalformed},
		{"a hostile message is rejected without much memory", trial.rejectsHostile},
		{"a restart goes on where it was", trial.survivesRestart},
		{"a store that was down misses nothing", trial.survivesOutage},
	}
	for _, p := range promises {
		t.Run(p.name, func(t *testing.T) { p.test(trial{T: t, store: newStore(t)}) })
	}
}

// trial is one promise under test on a store of its own.
type trial struct {
	*testing.T

	store Store
}

func (t trial) storesEveryKind() {
	write := t.store.Open(t.T)
	for i, table := range schemas.Tables() {
		batches := Batches(t, table.Kind(), Producer(uint64(i)), 3, 40)
		t.mustWrite(write, Messages(batches))
		t.wantRows(table.Kind(), batches)
	}
}

func (t trial) storesNothing() {
	write := t.store.Open(t.T)
	t.mustWrite(write, nil)
	t.mustWrite(write, []schemas.Message{})
	t.wantRows("tensor", nil)
}

func (t trial) countsOnceWhenTwiceDelivered() {
	write := t.store.Open(t.T)
	for _, kind := range []string{"tensor", "step", "op"} {
		batches := Batches(t, kind, Producer(1), 4, 25)
		t.mustWrite(write, Messages(batches[:3]))
		t.mustWrite(write, Messages(batches[:3]))
		t.mustWrite(write, Messages(batches))
		t.wantRows(kind, batches)
	}
}

func (t trial) countsOnceInOneCall() {
	write := t.store.Open(t.T)
	for _, kind := range []string{"tensor", "layout"} {
		batches := Batches(t, kind, Producer(2), 3, 25)
		t.mustWrite(write, Messages(slices.Concat(batches, batches[1:], batches[:2])))
		t.wantRows(kind, batches)
	}
}

func (t trial) countsOnceOutOfOrder() {
	write := t.store.Open(t.T)
	one, other := Batches(t, "tensor", Producer(3), 6, 10), Batches(t, "tensor", Producer(4), 6, 10)
	t.mustWrite(write, Messages([]Batch{one[5], other[0], one[2]}))
	t.mustWrite(write, Messages([]Batch{one[2], one[0], other[3]}))
	t.mustWrite(write, Messages([]Batch{other[5], one[4], one[1], other[0]}))
	t.wantRows("tensor", []Batch{one[0], one[1], one[2], one[4], one[5], other[0], other[3], other[5]})
	slices.Reverse(one)
	t.mustWrite(write, Messages(slices.Concat(one, other)))
	t.wantRows("tensor", slices.Concat(one, other))
}

func (t trial) survivesCancellation() {
	write := t.store.Open(t.T)
	batches := Batches(t, "tensor", Producer(5), 24, 700)
	for i := 0; i < len(batches); i += 4 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i)*500*time.Microsecond)
		_ = write(ctx, Messages(batches[i:i+4])) // either outcome is right
		cancel()
		t.mustWrite(write, Messages(batches[:i+4]))
		t.wantRows("tensor", batches[:i+4])
	}
}

func (t trial) survivesKill() {
	batches := Batches(t, "tensor", Producer(6), 8, 30)
	for i := range batches {
		write := t.store.Open(t.T)
		t.mustWrite(write, Messages(batches[:i]))
		t.mustWrite(write, Messages(batches[:i+1]))
	}
	t.mustWrite(t.store.Open(t.T), Messages(batches))
	t.wantRows("tensor", batches)
}

func (t trial) survivesRestart() {
	var all []Batch
	for _, kind := range []string{"tensor", "payload", "site"} {
		batches := Batches(t, kind, Producer(7), 6, 20)
		t.mustWrite(t.store.Open(t.T), Messages(batches[:4]))
		t.mustWrite(t.store.Open(t.T), Messages(batches[2:]))
		t.wantRows(kind, batches)
		all = append(all, batches...)
	}
	write := t.store.Open(t.T)
	t.mustWrite(write, Messages(all[6:12]))
	t.wantRows("payload", all[6:12])
}

func (t trial) rejectsMalformed() {
	write := t.store.Open(t.T)
	for i, kind := range []string{"tensor", "step", "op"} {
		good := Batches(t, kind, Producer(uint64(20+i)), 4, 20)
		bad := Malformed(t, Batches(t, kind, Producer(uint64(30+i)), 1, 20)[0].Message)
		var messages []schemas.Message
		var wantBad []int
		for k, m := range bad {
			messages = append(messages, good[k%len(good)].Message, m)
			wantBad = append(wantBad, len(messages)-1)
		}
		t.wantRejected(write(t.Context(), messages), wantBad)
		t.wantRows(kind, good)
		t.wantRejected(write(t.Context(), bad), allOf(bad))
		t.wantRows(kind, good)
	}
}

// mostTaken is the memory that a few messages of the greatest size may take at a time, with what is garbage of the last.
const mostTaken = 8 * schemas.MaxStreamBytes

// heapOfSystem is what the process has had of the system for its heap, at most, so far.
func heapOfSystem() int64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapSys) //nolint:gosec // bytes of memory
}

func (t trial) rejectsHostile() {
	write := t.store.Open(t.T)
	for i, kind := range []string{"tensor", "log", "layout"} {
		good := Batches(t, kind, Producer(uint64(50+i)), 4, 20)
		var messages []schemas.Message
		var wantBad []int
		for _, m := range Hostile(t, kind, Producer(uint64(60+i))) {
			messages = append(messages, good[len(messages)/2%len(good)].Message, m)
			wantBad = append(wantBad, len(messages)-1)
		}
		before := heapOfSystem()
		t.wantRejected(write(t.Context(), messages), wantBad)
		t.wantRows(kind, good)
		if took := heapOfSystem() - before; took > mostTaken {
			t.Errorf("%s: %d hostile messages took %d bytes of the system, want at most %d", kind, len(wantBad), took, mostTaken)
		}
	}
}

func (t trial) survivesOutage() {
	write := t.store.Open(t.T)
	batches := Batches(t, "tensor", Producer(8), 9, 30)
	t.mustWrite(write, Messages(batches[:3]))
	t.store.Break(t.T)
	for range 3 {
		err := write(t.Context(), Messages(batches[2:6]))
		if rejected := (*schemas.RejectedError)(nil); err == nil || errors.As(err, &rejected) {
			t.Errorf("Write while the store is down = %v, want an error that is no rejection", err)
		}
	}
	t.store.Mend(t.T)
	t.mustWrite(write, Messages(batches[2:6]))
	t.mustWrite(write, Messages(batches))
	t.wantRows("tensor", batches)
	t.mustWrite(t.store.Open(t.T), Messages(batches))
	t.wantRows("tensor", batches)
}
