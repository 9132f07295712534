package clickhouse_test

import (
	"context"
	"os"
	"testing"
	"time"

	chgo "github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/apache/arrow-go/v18/arrow/ipc"

	"github.com/tensortap/tensortap/consumers/clickhouse"
	"github.com/tensortap/tensortap/consumers/consumertest"
	"github.com/tensortap/tensortap/internal/dev/testbed"
	"github.com/tensortap/tensortap/internal/embedded"
	"github.com/tensortap/tensortap/internal/embedded/guard"
	"github.com/tensortap/tensortap/schemas"
)

// TestMain lets the test binary be its own engine, as the real binary is.
func TestMain(m *testing.M) {
	testbed.ServeEngine()
	os.Exit(m.Run())
}

// sqlFiles is the repository's sql folder.
const sqlFiles = "../../sql"

// server is a real engine in a folder of its own, that a test can stop, start and kill.
type server struct {
	cfg    embedded.EngineConfig
	engine *embedded.Engine
	conn   driver.Conn
	stop   func() error
}

// startServer runs an engine with the databases prepared until the test ends.
func startServer(tb testing.TB) *server {
	tb.Helper()
	s := startEmptyServer(tb)
	if err := clickhouse.Migrate(context.Background(), s.conn, os.DirFS(sqlFiles)); err != nil {
		tb.Fatal(err)
	}
	return s
}

func startEmptyServer(tb testing.TB) *server {
	tb.Helper()
	s := &server{cfg: testbed.EngineConfig(tb)}
	s.start(tb)
	s.cfg.Guard.Address = s.engine.Address() // the same after every start
	tb.Cleanup(func() {
		if err := s.stop(); err != nil {
			tb.Errorf("stop the engine: %v", err)
		}
	})
	options, err := chgo.ParseDSN(s.engine.DSN(guard.Owner))
	if err != nil {
		tb.Fatal(err)
	}
	if s.conn, err = chgo.Open(options); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = s.conn.Close() })
	return s
}

func (s *server) start(tb testing.TB) {
	tb.Helper()
	s.engine, s.stop = testbed.StartEngine(tb, s.cfg)
}

func (s *server) exec(tb testing.TB, sql string) {
	tb.Helper()
	if err := s.conn.Exec(context.Background(), sql); err != nil {
		tb.Fatalf("%s: %v", sql, err)
	}
}

func (s *server) number(tb testing.TB, sql string) uint64 {
	tb.Helper()
	var n uint64
	if err := s.conn.QueryRow(context.Background(), sql).Scan(&n); err != nil {
		tb.Fatalf("%s: %v", sql, err)
	}
	return n
}

// writer returns a new writer as a new process would have it.
func (s *server) writer(tb testing.TB) *clickhouse.Writer {
	tb.Helper()
	cfg := clickhouse.DefaultConfig()
	cfg.InsertTimeout, cfg.QueryTimeout = 20*time.Second, 10*time.Second
	w, err := clickhouse.New(cfg, s.conn)
	if err != nil {
		tb.Fatal(err)
	}
	return w
}

// Open, Rows, Break and Mend make the server a consumertest.Store.

func (s *server) Open(t *testing.T) consumertest.Write {
	t.Helper()
	return s.writer(t).Write
}

func (s *server) Rows(t *testing.T, kind string) []string {
	t.Helper()
	table, _ := schemas.TableByKind(kind)
	sql := "SELECT * FROM tap_store." + kind
	if table.Class == schemas.Definition {
		sql += " FINAL"
	}
	result, err := clickhouse.Query(t.Context(), s.conn, sql, nil, "ArrowStream")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = result.Close() }()
	reader, err := ipc.NewReader(result)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Release()
	var rows []string
	for reader.Next() {
		rows = append(rows, consumertest.RecordTexts(reader.RecordBatch())...)
	}
	if err := reader.Err(); err != nil {
		t.Fatal(err)
	}
	return rows
}

func (s *server) Break(t *testing.T) {
	t.Helper()
	if err := s.stop(); err != nil {
		t.Fatal(err)
	}
}

func (s *server) Mend(t *testing.T) {
	t.Helper()
	s.start(t)
}

func (s *server) empty(tb testing.TB) {
	tb.Helper()
	for _, table := range schemas.Tables() {
		s.exec(tb, "TRUNCATE TABLE tap_store."+table.Kind())
	}
}
