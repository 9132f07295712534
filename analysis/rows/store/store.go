// Package store reads the rows of runs from the database: facts of a run by a few plain queries at once, tensors
// window by window as Arrow columns. The database is never asked to sort or to join tensors.
package store

import (
	"context"
	"sync"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/apache/arrow-go/v18/arrow"

	"github.com/tensortap/tensortap/analysis/rows"
	"github.com/tensortap/tensortap/consumers/clickhouse"
)

// Source reads runs from the database. Its methods may be called at the same time.
type Source struct {
	// Unstored counts, rank by rank, the steps of a run that were published and are not stored: who published them knows.
	// Without it none are counted.
	Unstored func(ctx context.Context, run uint64) (map[uint32]uint64, error)

	database driver.Conn
	mutex    sync.Mutex
	known    *rows.Definitions // is replaced, not changed
	lengths  lengths
}

// Open reads through a connection, which speaks HTTP and stays its caller's.
func Open(database driver.Conn) *Source {
	return &Source{database: database, known: rows.NewDefinitions()}
}

// Definitions are those of all runs that Run was asked for so far. A later Run does not change them: ask again then.
func (s *Source) Definitions() *rows.Definitions {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.known
}

// each calls visit with every batch of the answer to a query. The batches are fresh memory, which visit may keep.
func (s *Source) each(ctx context.Context, query string, visit func(arrow.RecordBatch) error) error {
	return clickhouse.Each(ctx, s.database, query, visit)
}
