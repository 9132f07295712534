package embedded_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tensortap/tensortap/internal/embedded/guard"
)

func TestClickHouseGoWorksThroughTheGuard(t *testing.T) {
	t.Parallel()
	engine, _ := startEngine(t, t.TempDir(), nil)
	options, err := clickhouse.ParseDSN(engine.DSN(guard.Owner))
	if err != nil {
		t.Fatal(err)
	}
	for _, compression := range []clickhouse.CompressionMethod{clickhouse.CompressionNone, clickhouse.CompressionLZ4, clickhouse.CompressionGZIP} {
		options.Compression = &clickhouse.Compression{Method: compression}
		connection, err := clickhouse.Open(options)
		if err != nil {
			t.Fatal(err)
		}
		exerciseClient(t, connection)
		if err := connection.Close(); err != nil {
			t.Error(err)
		}
	}
	options, err = clickhouse.ParseDSN(engine.DSN(guard.Reader))
	if err != nil {
		t.Fatal(err)
	}
	reader, err := clickhouse.Open(options)
	if err != nil {
		t.Fatal(err)
	}
	defer closeOrFail(t, reader)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	var rows uint64
	if err := reader.QueryRow(ctx, "SELECT count() FROM tap_test.float").Scan(&rows); err != nil || rows != 5 {
		t.Errorf("reader: got %d rows, %v; want 5", rows, err)
	}
}

// exerciseClient stores five floats as Arrow and reads them back as Arrow.
func exerciseClient(t *testing.T, connection driver.Conn) {
	t.Helper()
	ctx := t.Context()
	if err := connection.Ping(ctx); err != nil {
		t.Fatal(err)
	}
	for _, sql := range []string{
		"CREATE DATABASE IF NOT EXISTS tap_test ENGINE = Atomic",
		"CREATE OR REPLACE TABLE tap_test.float (i UInt64, f Nullable(Float64)) ENGINE = MergeTree ORDER BY i",
	} {
		if err := connection.Exec(ctx, sql); err != nil {
			t.Fatal(err)
		}
	}
	sent := floats(t)
	if err := connection.InsertFormat(ctx, "ArrowStream", "INSERT INTO tap_test.float", bytes.NewReader(sent)); err != nil {
		t.Fatal(err)
	}
	stream, err := connection.QueryFormat(ctx, "ArrowStream", "SELECT i, f FROM tap_test.float ORDER BY i")
	if err != nil {
		t.Fatal(err)
	}
	defer closeOrFail(t, stream)
	reader, err := ipc.NewReader(stream)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Release()
	var got []string
	for reader.Next() {
		got = append(got, fmt.Sprint(reader.RecordBatch().Column(1)))
	}
	if want := "[[NaN +Inf -Inf (null) -0]]"; fmt.Sprint(got) != want {
		t.Errorf("round trip: got %v, want %s", got, want)
	}
}

func floats(t *testing.T) []byte {
	t.Helper()
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "i", Type: arrow.PrimitiveTypes.Uint64}, {Name: "f", Type: arrow.PrimitiveTypes.Float64, Nullable: true},
	}, nil)
	builder := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	defer builder.Release()
	index, ok := builder.Field(0).(*array.Uint64Builder)
	values, ok2 := builder.Field(1).(*array.Float64Builder)
	if !ok || !ok2 {
		t.Fatal("other builders than expected")
	}
	index.AppendValues([]uint64{0, 1, 2, 3, 4}, nil)
	values.AppendValues([]float64{math.NaN(), math.Inf(1), math.Inf(-1), 0, math.Copysign(0, -1)}, []bool{true, true, true, false, true})
	record := builder.NewRecordBatch()
	defer record.Release()
	var out bytes.Buffer
	writer := ipc.NewWriter(&out, ipc.WithSchema(schema))
	if err := writer.Write(record); err != nil {
		t.Fatal(err)
	}
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestGuardAsksForCredentialsInEveryForm(t *testing.T) {
	t.Parallel()
	engine, _ := startEngine(t, t.TempDir(), nil)
	password := engine.Password(guard.Owner)
	base := "http://" + engine.Address() + "/"
	cases := []struct {
		name, address string
		header        map[string]string
		want          int
	}{
		{"nothing", base, nil, 401},
		{"ping", base + "ping", nil, 401},
		{"wrong password", strings.Replace(engine.DSN(guard.Owner), password, "no", 1), nil, 401},
		{"default", base + "?user=default", nil, 401},
		{"reader with owner's password", base, map[string]string{"X-ClickHouse-User": guard.Reader, "X-ClickHouse-Key": password}, 401},
		{"token", base, map[string]string{"Authorization": "Bearer " + password}, 401},
		{"basic", engine.DSN(guard.Owner), nil, 200},
		{"headers", base, map[string]string{"X-ClickHouse-User": guard.Owner, "X-ClickHouse-Key": password}, 200},
		{"parameters", base + "?user=owner&default_format=TSV&password=" + url.QueryEscape(password), nil, 200},
		{"escaped names", base + "?us%65r=owner&p%61ssword=" + password, nil, 200},
		{"another site's page", engine.DSN(guard.Owner), map[string]string{"Sec-Fetch-Site": "cross-site"}, 403},
	}
	for _, c := range cases {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, c.address, strings.NewReader("SELECT currentUser(), ';&user=x'"))
		if err != nil {
			t.Fatal(err)
		}
		for name, value := range c.header {
			request.Header.Set(name, value)
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		body, err := io.ReadAll(response.Body)
		_ = response.Body.Close()
		if err != nil || response.StatusCode != c.want {
			t.Errorf("%s: got %d %s %v, want %d", c.name, response.StatusCode, body, err, c.want)
		}
		if c.want == 200 && string(body) != "owner\t;&user=x\n" {
			t.Errorf("%s: got %q", c.name, body)
		}
	}
}
