package grafana_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	chgo "github.com/ClickHouse/clickhouse-go/v2"

	"github.com/tensortap/tensortap/internal/dev/testbed"
)

// frame is an answer, as the data source has it before it becomes one of Grafana.
type frame struct {
	columns, types []string
	rows           [][]any
}

// openAsGrafana connects as the data source does: over HTTP with gzip, as the user who only reads.
func openAsGrafana(tb testing.TB, d *testbed.Database) *sql.DB {
	tb.Helper()
	options, err := chgo.ParseDSN(d.ReaderDSN)
	if err != nil {
		tb.Fatal(err)
	}
	options.Compression = &chgo.Compression{Method: chgo.CompressionGZIP}
	options.Auth.Database = "tap"
	db := chgo.OpenDB(options)
	tb.Cleanup(func() { _ = db.Close() })
	return db
}

// ask runs one query within the data source's time limit.
func ask(ctx context.Context, db *sql.DB, text string) (_ frame, err error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	rows, err := db.QueryContext(ctx, text)
	if err != nil {
		return frame{}, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	types, err := rows.ColumnTypes()
	if err != nil {
		return frame{}, err
	}
	var f frame
	for _, t := range types {
		f.columns, f.types = append(f.columns, t.Name()), append(f.types, t.DatabaseTypeName())
	}
	for rows.Next() {
		row := make([]any, len(types))
		into := make([]any, len(types))
		for i := range row {
			into[i] = &row[i]
		}
		if err := rows.Scan(into...); err != nil {
			return f, err
		}
		f.rows = append(f.rows, row)
	}
	return f, rows.Err()
}

// bare is a type without what Grafana does not care for.
func bare(databaseType string) string {
	for _, around := range []string{"Nullable(", "LowCardinality("} {
		if inner, ok := strings.CutPrefix(databaseType, around); ok {
			return bare(strings.TrimSuffix(inner, ")"))
		}
	}
	name, _, _ := strings.Cut(databaseType, "(")
	return name
}

func isNumber(databaseType string) bool {
	name := bare(databaseType)
	return strings.HasPrefix(name, "Int") || strings.HasPrefix(name, "UInt") || strings.HasPrefix(name, "Float")
}

func isTime(databaseType string) bool { return strings.HasPrefix(bare(databaseType), "DateTime") }

// empty says whether there is no row: then the driver names no columns either.
func (f frame) empty() bool { return len(f.rows) == 0 }

// series checks an answer that becomes lines over time: time, names of the line, value, in the order of time.
func (f frame) series() error {
	if f.empty() {
		return nil
	}
	last := len(f.columns) - 1
	if last < 1 || !isTime(f.types[0]) || !isNumber(f.types[last]) {
		return fmt.Errorf("columns %v of %v: want a time first and a number last", f.columns, f.types)
	}
	for i := 1; i < last; i++ {
		if bare(f.types[i]) != "String" {
			return fmt.Errorf("column %s of %s: want a text, which names the line", f.columns[i], f.types[i])
		}
	}
	return f.ordered(0, last, func(a, b any) bool { return a.(time.Time).After(b.(time.Time)) })
}

// lines checks an answer that becomes lines over steps.
func (f frame) lines() error {
	if f.empty() {
		return nil
	}
	if !slices.Equal(f.columns, []string{"step", "line", "value"}) || !isNumber(f.types[0]) || bare(f.types[1]) != "String" || !isNumber(f.types[2]) {
		return fmt.Errorf("columns %v of %v: want step, line, value", f.columns, f.types)
	}
	return f.ordered(0, 2, func(a, b any) bool { return number(a) > number(b) })
}

// ordered checks that a column never falls, and that no line has two values at one place.
func (f frame) ordered(column, value int, after func(a, b any) bool) error {
	seen := map[string]bool{}
	for i, row := range f.rows {
		if i > 0 && after(f.rows[i-1][column], row[column]) {
			return fmt.Errorf("row %d: %v comes after %v", i, row[column], f.rows[i-1][column])
		}
		key := fmt.Sprint(row[:value])
		if seen[key] {
			return fmt.Errorf("row %d: a second value for %s", i, key)
		}
		seen[key] = true
	}
	return nil
}

// figures checks an answer that becomes big figures.
func (f frame) figures() error {
	if f.empty() {
		return nil
	}
	if len(f.columns) != 2 || bare(f.types[0]) != "String" || !isNumber(f.types[1]) {
		return fmt.Errorf("columns %v of %v: want a text and a number", f.columns, f.types)
	}
	return nil
}

// logs checks an answer that becomes lines of a log, the latest first.
func (f frame) logs() error {
	if f.empty() {
		return nil
	}
	if len(f.columns) < 3 || !slices.Equal(f.columns[:3], []string{"timestamp", "body", "level"}) || !isTime(f.types[0]) {
		return fmt.Errorf("columns %v of %v: want timestamp, body, level", f.columns, f.types)
	}
	for i := 1; i < len(f.rows); i++ {
		if f.rows[i][0].(time.Time).After(f.rows[i-1][0].(time.Time)) {
			return fmt.Errorf("row %d is later than the row before it", i)
		}
	}
	return nil
}

// cases checks the answer of an alert rule: one number, and texts that become labels.
func (f frame) cases() error {
	if f.empty() {
		return nil
	}
	numbers := 0
	for i, name := range f.types {
		switch {
		case isNumber(name) && f.columns[i] == "value":
			numbers++
		case bare(name) != "String":
			return fmt.Errorf("column %s of %s: an alert's labels are texts", f.columns[i], name)
		}
	}
	if numbers != 1 {
		return fmt.Errorf("columns %v: want one number, named value", f.columns)
	}
	return nil
}

// number is any of the driver's numbers.
func number(value any) float64 {
	var f float64
	_, _ = fmt.Sscan(text(value), &f)
	return f
}

// text is a value as a person reads it.
func text(value any) string {
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

// String is the rows, one a line.
func (f frame) String() string {
	var b strings.Builder
	for _, row := range f.rows {
		for i, value := range row {
			fmt.Fprintf(&b, "%s=%s ", f.columns[i], text(value))
		}
		b.WriteByte('\n')
	}
	return b.String()
}
