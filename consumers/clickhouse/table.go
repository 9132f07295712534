package clickhouse

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"golang.org/x/sync/errgroup"

	"github.com/tensortap/tensortap/schemas"
)

// table stores the messages of one kind.
type table struct {
	cfg      Config
	conn     driver.Conn
	declared schemas.Table
	name     string // with its database
	sql      string // of the INSERT
	prefix   string // of the ids of its INSERTs, whichever process began them
	start    string // follows prefix in the ids of this process
	counts   *counters

	inserts   atomic.Uint64 // begun
	abandoned abandoned     // INSERTs that only settle waits for

	mu     sync.Mutex // guards the fields below, and lets one call in at a time
	doubt  bool       // an INSERT without a waiting caller may be running
	stored *memory
}

func newTable(cfg Config, conn driver.Conn, database string, declared schemas.Table, start string, counts *counters) *table {
	name := database + "." + declared.Kind()
	insert := "INSERT INTO " + name + " (" + columnList(declared) + ")"
	if cfg.Fence != nil {
		insert = cfg.Fence.into(name, declared)
	}
	return &table{
		cfg: cfg, conn: conn, declared: declared, counts: counts, name: name, start: start,
		sql:    insert,
		prefix: "tensortap/" + cfg.Name + "/" + declared.Kind() + "/",
		doubt:  true, // a process before this one may have been killed with one running
		stored: newMemory(cfg.Producers),
	}
}

// write stores the messages of a call or notes why they never can be.
func (t *table) write(ctx context.Context, c *call) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	defer t.stored.trim()
	todo := t.admit(c)
	for len(todo) > 0 {
		first, again := c.distinct(todo)
		if err := t.storeNew(ctx, c, first); err != nil {
			return fmt.Errorf("store %d messages in %s: %w", len(todo), t.name, err)
		}
		todo = c.orphans(first, again)
		t.counts.duplicates.Add(uint64(len(again) - len(todo)))
	}
	return nil
}

// admit rejects messages that no INSERT can hold.
func (t *table) admit(c *call) []int {
	var admitted []int
	for i, m := range c.messages {
		if h := m.Header; t.declared.PartitionByDay && schemas.Day(h.MinEventTimeNs) != schemas.Day(h.MaxEventTimeNs) {
			c.reject(i, fmt.Sprintf("event times %d to %d ns are of more than one UTC day", h.MinEventTimeNs, h.MaxEventTimeNs))
			continue
		}
		admitted = append(admitted, i)
	}
	return admitted
}

// storeNew stores those messages that are not stored yet.
func (t *table) storeNew(ctx context.Context, c *call, of []int) error {
	fresh := of
	if t.declared.Class == schemas.Measurement {
		var err error
		if fresh, err = t.unknown(ctx, c, of); err != nil {
			return err
		}
	}
	for some := range slices.Chunk(c.chunks(fresh, t.declared, t.cfg.InsertRows), t.cfg.Inserts) {
		if err := t.storeChunks(ctx, c, some); err != nil {
			return err
		}
	}
	return nil
}

// storeChunks stores each chunk by an INSERT, all at once, and then sees to
// those that did not go through.
func (t *table) storeChunks(ctx context.Context, c *call, chunks [][]int) error {
	failures := make([]error, len(chunks))
	var inserting errgroup.Group
	for k, chunk := range chunks {
		inserting.Go(func() error {
			failures[k] = t.insert(ctx, c, chunk)
			return nil
		})
	}
	if err := inserting.Wait(); err != nil {
		return err
	}
	var errs []error // one failure is no reason to forget what the others did
	for k, chunk := range chunks {
		errs = append(errs, t.conclude(ctx, c, chunk, failures[k]))
	}
	return errors.Join(errs...)
}

// unknown leaves out the stored messages, after a check whether the stored rows can be the same
// rows.
func (t *table) unknown(ctx context.Context, c *call, of []int) ([]int, error) {
	if err := t.settle(ctx); err != nil {
		return nil, err
	}
	if err := t.recall(ctx, c, of); err != nil {
		return nil, err
	}
	var fresh, known []int
	for _, i := range of {
		if t.stored.holds(c.header(i).Identity) {
			known = append(known, i)
		} else {
			fresh = append(fresh, i)
		}
	}
	if len(known) == 0 {
		return fresh, nil
	}
	counts, err := t.batchRows(ctx, c, known)
	if err != nil {
		return nil, err
	}
	for _, i := range known {
		h := c.header(i)
		switch n := counts[h.Identity]; n {
		case uint64(h.Rows):
			t.counts.duplicates.Add(1)
		case 0: // someone emptied the table
			t.stored.forget(producerOf(h.Identity))
			fresh = append(fresh, i)
		default:
			c.reject(i, fmt.Sprintf("batch %s has %d rows here, and %s holds %d of that identity", h.Identity, h.Rows, t.name, n))
		}
	}
	return fresh, nil
}

// conclude notes that messages are stored. If their INSERT failed, it finds the stored ones,
// rejects those that can never be stored, and stores those that the server refused by smaller
// INSERTs.
func (t *table) conclude(ctx context.Context, c *call, of []int, failure error) error {
	if failure == nil {
		t.remember(c, of)
		return nil
	}
	if Fenced(failure) {
		return failure // and disturb the other's INSERTs no more
	}
	missing, err := t.resolve(ctx, c, of)
	if err != nil {
		return errors.Join(failure, err)
	}
	var unsound *unsoundError
	switch {
	case len(missing) == 0:
		return nil
	case errors.As(failure, &unsound):
		sound := t.sound(c, missing)
		if len(sound) == len(missing) {
			return failure
		}
		return t.store(ctx, c, sound)
	case !refused(failure):
		return failure
	case len(missing) == 1:
		c.reject(missing[0], failure.Error())
		return nil
	}
	half := len(missing) / 2
	if err := t.store(ctx, c, missing[:half]); err != nil {
		return err
	}
	return t.store(ctx, c, missing[half:])
}

func (t *table) store(ctx context.Context, c *call, of []int) error {
	if len(of) == 0 {
		return nil
	}
	return t.conclude(ctx, c, of, t.insert(ctx, c, of))
}

// sound rejects the messages whose data do not fit their header or cannot be encoded.
func (t *table) sound(c *call, of []int) []int {
	var sound []int
	for _, i := range of {
		if err := t.encode(io.Discard, c, []int{i}); err != nil {
			c.reject(i, err.Error())
			continue
		}
		sound = append(sound, i)
	}
	return sound
}

func (t *table) remember(c *call, of []int) {
	for _, i := range of {
		t.stored.add(c.header(i).Identity)
	}
	t.counts.inserts.Add(1)
	t.counts.messages.Add(uint64(len(of)))
	t.counts.rows.Add(uint64(c.rows(of)))
}
