// Package store reads the rows of runs from the database: facts of a run by a few plain queries at once, tensors
// window by window as Arrow columns. The database is never asked to sort or to join tensors.
package store

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"

	"github.com/tensortap/tensortap/analysis/rows"
	"github.com/tensortap/tensortap/consumers/clickhouse"
	"github.com/tensortap/tensortap/schemas"
)

// Source reads runs from the database. Its methods may be called at the same time.
type Source struct {
	database driver.Conn
	mutex    sync.Mutex
	known    *rows.Definitions // is replaced, not changed
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
	answer, err := clickhouse.Query(ctx, s.database, query, nil, "ArrowStream")
	if err != nil {
		return err
	}
	reader, err := ipc.NewReader(answer)
	if err != nil {
		return errors.Join(fmt.Errorf("read answer: %w", err), answer.Close())
	}
	defer reader.Release()
	for reader.Next() {
		if err := visit(reader.RecordBatch()); err != nil {
			return errors.Join(err, answer.Close())
		}
	}
	if err := reader.Err(); err != nil {
		return errors.Join(fmt.Errorf("read answer: %w", err), answer.Close())
	}
	return answer.Close()
}

// table is the rows of a table for which the condition holds.
func table[R any, P schemas.Row[R]](ctx context.Context, s *Source, condition string) ([]R, error) {
	var found []R
	declared := P(new(R)).Table()
	query := "SELECT " + names(declared) + " FROM tap_store." + declared.Name + " WHERE " + condition
	err := s.each(ctx, query, func(record arrow.RecordBatch) (err error) {
		found, err = schemas.AppendRecord[R, P](found, record)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", declared.Name, err)
	}
	return found, nil
}

func names(t schemas.Table) string {
	quoted := make([]string, len(t.Columns))
	for i, c := range t.Columns {
		quoted[i] = "`" + c.Name + "`"
	}
	return strings.Join(quoted, ", ")
}
