// Package asked asks a database what Grafana's dashboards ask of it, as their data source does, and holds the answers against
// the form that each panel needs.
package asked

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	chgo "github.com/ClickHouse/clickhouse-go/v2"

	"github.com/tensortap/tensortap/internal/dev/grafana/plugin"
)

// Open connects as the data source does: over HTTP with gzip.
func Open(dsn string) (*sql.DB, error) {
	options, err := chgo.ParseDSN(dsn)
	if err != nil {
		return nil, err
	}
	options.Compression = &chgo.Compression{Method: chgo.CompressionGZIP}
	options.Auth.Database = "tap"
	return chgo.OpenDB(options), nil
}

// Query runs one query within the data source's time limit.
func Query(ctx context.Context, db *sql.DB, text string) (_ Frame, err error) {
	ctx, cancel := context.WithTimeout(ctx, plugin.QueryTimeout)
	defer cancel()
	rows, err := db.QueryContext(ctx, text)
	if err != nil {
		return Frame{}, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	types, err := rows.ColumnTypes()
	if err != nil {
		return Frame{}, err
	}
	var f Frame
	for _, t := range types {
		f.Columns, f.Types = append(f.Columns, t.Name()), append(f.Types, t.DatabaseTypeName())
	}
	for rows.Next() {
		row, err := scan(rows, len(types))
		if err != nil {
			return f, err
		}
		f.Rows = append(f.Rows, row)
	}
	return f, rows.Err()
}

func scan(rows *sql.Rows, columns int) ([]any, error) {
	row, into := make([]any, columns), make([]any, columns)
	for i := range row {
		into[i] = &row[i]
	}
	return row, rows.Scan(into...)
}

// Text is a value as a person reads it.
func Text(value any) string {
	switch v := value.(type) {
	case nil:
		return ""
	case *string:
		return *v
	case *float64:
		return fmt.Sprint(*v)
	case *uint32:
		return fmt.Sprint(*v)
	case *int64:
		return fmt.Sprint(*v)
	case *uint64:
		return fmt.Sprint(*v)
	default:
		return fmt.Sprint(v)
	}
}

// Number is any of the driver's numbers.
func Number(value any) float64 {
	var f float64
	_, _ = fmt.Sscan(Text(value), &f)
	return f
}
