// Package ask is the one door to the database: the answer to a query or a
// report, as a table or written out, and whether what a question names is
// there at all.
package ask

import (
	"context"
	"errors"
	"io"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"github.com/tensortap/tensortap/analysis/report"
	"github.com/tensortap/tensortap/consumers/clickhouse"
	"github.com/tensortap/tensortap/schemas"
	"github.com/tensortap/tensortap/sql"
)

// Door asks one database. Its methods may be called at the same time.
type Door struct{ database driver.Conn }

// Open asks through a connection, which speaks HTTP and is the door's from now on.
func Open(database driver.Conn) *Door { return &Door{database: database} }

// Close lets go of the connection.
func (d *Door) Close() error { return d.database.Close() }

// Write writes the answer to a query with parameters {name:Type}.
func (d *Door) Write(ctx context.Context, to io.Writer, style report.Style, query string, parameters map[string]string) error {
	answer, err := clickhouse.QueryFirst(ctx, d.database, style.Reads(), query, parameters, style.Format.ClickHouse())
	if err != nil {
		return d.nameMalformed(ctx, err)
	}
	return d.nameMalformed(ctx, errors.Join(report.Write(to, style, answer), answer.Close()))
}

// Table is the answer to a query, in memory.
func (d *Door) Table(ctx context.Context, query string, parameters map[string]string) (report.Table, error) {
	table, err := d.read(ctx, query, parameters)
	return table, d.nameMalformed(ctx, err)
}

func (d *Door) read(ctx context.Context, query string, parameters map[string]string) (report.Table, error) {
	answer, err := clickhouse.Query(ctx, d.database, query, parameters, report.Text.ClickHouse())
	if err != nil {
		return report.Table{}, err
	}
	table, err := report.ReadTable(answer)
	return table, errors.Join(err, answer.Close())
}

// Hold is the answer to a query, to be read and written.
func (d *Door) Hold(ctx context.Context, query string, parameters map[string]string) (held report.Held, err error) {
	answer, err := d.Stream(ctx, query, parameters)
	if err == nil {
		held, err = report.Hold(answer)
		err = errors.Join(err, answer.Close())
	}
	return held, d.nameMalformed(ctx, err)
}

// Stream is the answer to a query as Arrow. The caller closes it.
func (d *Door) Stream(ctx context.Context, query string, parameters map[string]string) (io.ReadCloser, error) {
	return clickhouse.Query(ctx, d.database, query, parameters, report.Text.ClickHouse())
}

// Rows are those of the answer to a query. The caller closes them.
func (d *Door) Rows(ctx context.Context, query string, parameters map[string]string) (driver.Rows, error) {
	named := make([]any, 0, len(parameters))
	for name, value := range parameters {
		named = append(named, driver.NamedValue{Name: name, Value: value})
	}
	return d.database.Query(ctx, query, named...)
}

// Report answers a report by its name; parameters that are not given have their defaults.
func (d *Door) Report(ctx context.Context, name string, parameters map[string]string) (report.Table, error) {
	r, values, err := Prepare(name, parameters)
	if err != nil {
		return report.Table{}, err
	}
	return d.Table(ctx, r.Query, values)
}

// WhyEmpty is what the report that is named for it says of why this one has no rows for these parameters; it may be empty.
func (d *Door) WhyEmpty(ctx context.Context, r sql.Report, parameters map[string]string) (string, error) {
	if r.Because == "" {
		return "", nil
	}
	table, err := d.Report(ctx, r.Because, parameters)
	if err != nil || len(table.Rows) == 0 {
		return "", err
	}
	return table.Get(0, "explanation").Exact, nil
}

// Prepare fills in the defaults of a report, and leaves out what it does not take.
func Prepare(name string, parameters map[string]string) (sql.Report, map[string]string, error) {
	r, err := sql.ReportByName(name)
	if err != nil {
		return r, nil, err
	}
	values := map[string]string{}
	for _, p := range r.Parameters {
		values[p.Name] = p.Default
		if given, ok := parameters[p.Name]; ok {
			values[p.Name] = given
		}
	}
	return r, values, nil
}

// Rows reads rows of a table for which the condition holds; an order and a limit may follow it.
func Rows[R any, P schemas.Row[R]](ctx context.Context, d *Door, condition string) ([]R, error) {
	return clickhouse.Rows[R, P](ctx, d.database, condition)
}
