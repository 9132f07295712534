package clickhouse

import (
	"context"
	"errors"
	"fmt"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"

	"github.com/tensortap/tensortap/schemas"
)

// Each calls visit with every batch of the answer to a query. The batches are fresh memory, which visit may keep.
func Each(ctx context.Context, conn driver.Conn, sql string, visit func(arrow.RecordBatch) error) error {
	answer, err := Query(ctx, conn, sql, nil, "ArrowStream")
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

// Rows reads the rows of a table for which the condition holds; an order and a limit may follow it.
func Rows[R any, P schemas.Row[R]](ctx context.Context, conn driver.Conn, condition string) ([]R, error) {
	return rowsOf[R, P](ctx, conn, "", condition)
}

// Latest is Rows with only the last row of each key.
func Latest[R any, P schemas.Row[R]](ctx context.Context, conn driver.Conn, condition string) ([]R, error) {
	return rowsOf[R, P](ctx, conn, " FINAL", condition)
}

func rowsOf[R any, P schemas.Row[R]](ctx context.Context, conn driver.Conn, modifier, condition string) ([]R, error) {
	var found []R
	table := P(new(R)).Table()
	query := "SELECT " + columnList(table) + " FROM tap_store." + table.Name + modifier + " WHERE " + condition
	err := Each(ctx, conn, query, func(record arrow.RecordBatch) (err error) {
		found, err = schemas.AppendRecord[R, P](found, record)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", table.Name, err)
	}
	return found, nil
}
