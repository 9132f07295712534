package clickhouse

import (
	"context"
	"crypto/rand"
	"fmt"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"github.com/tensortap/tensortap/schemas"
)

// Writer stores messages in the tables of tap_store. Calls may overlap; those
// of one kind wait for each other.
type Writer struct {
	tables map[string]*table
	counts counters
}

// New returns a writer over a connection of protocol HTTP, which stays the
// caller's to close. It does not touch the server.
func New(cfg Config, conn driver.Conn) (*Writer, error) { return newWriter(cfg, conn, storeDatabase) }

func newWriter(cfg Config, conn driver.Conn, database string) (*Writer, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	w := &Writer{tables: make(map[string]*table)}
	start := rand.Text()
	for _, declared := range schemas.Tables() {
		w.tables[declared.Kind()] = newTable(cfg, conn, database, declared, start, &w.counts)
	}
	return w, nil
}

// Write stores messages of one kind. After nil all are durable; after a
// *schemas.RejectedError all but those it lists. After any other error some
// may be stored: write the same messages again, as often as it takes.
func (w *Writer) Write(ctx context.Context, messages []schemas.Message) error {
	if len(messages) == 0 {
		return nil
	}
	kind := messages[0].Header.Kind
	t, known := w.tables[kind]
	if !known {
		return fmt.Errorf("store %d messages: no table for kind %q", len(messages), kind)
	}
	for _, m := range messages {
		if m.Header.Kind != kind {
			return fmt.Errorf("store %d messages of %s: one is of kind %q", len(messages), kind, m.Header.Kind)
		}
	}
	c := &call{messages: messages, rejected: make(map[int]string)}
	if err := t.write(ctx, c); err != nil {
		return err
	}
	if len(c.rejected) > 0 {
		w.counts.rejected.Add(uint64(len(c.rejected)))
		return &schemas.RejectedError{Reasons: c.rejected}
	}
	return nil
}

// Counts returns the work of the writer so far.
func (w *Writer) Counts() Counts { return w.counts.read() }
