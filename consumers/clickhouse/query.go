package clickhouse

import (
	"context"
	"fmt"
	"io"
	"maps"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
)

// Query runs sql and returns its result in one of ClickHouse's formats, such as ArrowStream or
// Parquet. Text in it is UTF-8, and nothing is a dictionary. Parameters are the values of
// {name:Type} in sql, as text; NaN and lists as ClickHouse writes them. The caller closes the
// result, which holds a connection until then; an error may also come while it is read.
func Query(ctx context.Context, conn driver.Conn, sql string, parameters map[string]string, format string) (io.ReadCloser, error) {
	return ask(ctx, conn, clickhouse.Settings{}, sql, parameters, format)
}

// QueryFirst is Query for the first rows alone, or for all where rows is 0.
func QueryFirst(ctx context.Context, conn driver.Conn, rows uint64, sql string, parameters map[string]string, format string) (io.ReadCloser, error) {
	settings := clickhouse.Settings{}
	if rows > 0 {
		settings["limit"] = rows
	}
	return ask(ctx, conn, settings, sql, parameters, format)
}

func ask(ctx context.Context, conn driver.Conn, settings clickhouse.Settings, sql string, parameters map[string]string, format string) (io.ReadCloser, error) {
	arguments := make([]any, 0, len(parameters))
	for name, value := range parameters {
		arguments = append(arguments, clickhouse.Named(name, value))
	}
	maps.Copy(settings, clickhouse.Settings{
		"output_format_arrow_string_as_string":              1,
		"output_format_arrow_low_cardinality_as_dictionary": 0,
		"output_format_arrow_compression_method":            "none",
	})
	result, err := conn.QueryFormat(clickhouse.Context(ctx, clickhouse.WithSettings(settings)), format, sql, arguments...)
	if err != nil {
		return nil, fmt.Errorf("query for %s: %w", format, err)
	}
	return result, nil
}
