package clickhouse_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/tensortap/tensortap/consumers/clickhouse"
	"github.com/tensortap/tensortap/consumers/consumertest"
	"github.com/tensortap/tensortap/schemas"
)

const countNext = "SELECT count() FROM system.databases WHERE name = 'tap_store_next'"

func (s *server) migrate(tb testing.TB) {
	tb.Helper()
	if err := clickhouse.Migrate(context.Background(), s.conn, os.DirFS(sqlFiles)); err != nil {
		tb.Fatal(err)
	}
}

func (s *server) beginRebuild(tb testing.TB) *clickhouse.Rebuild {
	tb.Helper()
	next, err := clickhouse.BeginRebuild(context.Background(), s.conn)
	if err != nil {
		tb.Fatal(err)
	}
	return next
}

// requireDifferences checks what is said of each table: its name, and what it lost, gained and has otherwise.
func requireDifferences(tb testing.TB, next *clickhouse.Rebuild, want ...string) {
	tb.Helper()
	all, err := next.Differences(context.Background())
	if err != nil {
		tb.Fatal(err)
	}
	var got []string
	for _, d := range all {
		got = append(got, fmt.Sprintf("%s %d %d %d", d.Table.Kind(), d.Lost, d.Gained, d.Changed))
	}
	if !slices.Equal(got, want) {
		tb.Errorf("differences %q, want %q", got, want)
	}
}

func TestRebuildSeesEveryDifferenceAndExchangesTheTables(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	steps := consumertest.Messages(consumertest.Batches(t, "step", consumertest.Producer(1), 4, 5))
	ranks := consumertest.Messages(consumertest.Batches(t, "rank", consumertest.Producer(1), 2, 3))
	mustStore(t, s.writer(t), steps)
	mustStore(t, s.writer(t), ranks)
	s.exec(t, "INSERT INTO tap_store.known_exception (api, why) VALUES ('torch.sort', 'mine')")
	s.exec(t, "INSERT INTO tap_store.removal (run_id, part, decided_time_ns) VALUES (7, 'details', 1)")
	s.exec(t, "INSERT INTO tap_store.trend (run_id, site_id, step) VALUES (7, 1, 1), (8, 1, 1)")

	next := s.beginRebuild(t)
	for _, messages := range [][]schemas.Message{steps, ranks, steps[:1]} {
		if err := next.Write(t.Context(), messages); err != nil {
			t.Fatal(err)
		}
	}
	requireDifferences(t, next)
	for _, mutation := range []string{
		"TABLE tap_store.step UPDATE begin_time_ns = NULL WHERE batch = 0",      // to null and from it
		"TABLE tap_store_next.step UPDATE begin_time_ns = NULL WHERE batch = 0", // so equal again
		"TABLE tap_store.step UPDATE end_time_ns = NULL WHERE batch = 1",
		"TABLE tap_store.step UPDATE end_time_ns = 7 WHERE batch = 1",
		"TABLE tap_store.step DELETE WHERE batch = 2",
		"TABLE tap_store_next.step DELETE WHERE batch = 3",
	} {
		s.exec(t, "ALTER "+mutation+" SETTINGS mutations_sync = 1")
	}
	s.exec(t, "INSERT INTO tap_store.rank (run_id, rank, epoch) VALUES (1, 2, 3)")
	s.exec(t, "INSERT INTO tap_store.op (op_id, name) VALUES (1, 'nobody published it')")
	requireDifferences(t, next, "rank 1 0 0", "op 1 0 0", "step 1 1 1")

	ids := s.number(t, "SELECT sum(cityHash64(uuid)) FROM system.tables WHERE database = 'tap_store_next'")
	if err := next.Exchange(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := s.number(t, countNext); n != 0 {
		t.Error("the old tables are still there")
	}
	s.migrate(t)
	if n := s.number(t, "SELECT count() FROM system.tables WHERE database = 'tap_store' AND name = 'trend_fill'"); n != 1 {
		t.Error("the view that fills trends is gone")
	}
	now := s.number(t, "SELECT sum(cityHash64(uuid)) FROM system.tables WHERE database = 'tap_store' AND name NOT IN ('migration', 'known_exception', 'removal', 'trend_fill')")
	if now != ids {
		t.Error("the tables are not the new ones")
	}
	if n := s.number(t, "SELECT count() FROM tap_store.known_exception"); n != 1 {
		t.Errorf("of 1 row of the user %d are left", n)
	}
	if n := s.number(t, "SELECT sum(run_id) FROM tap_store.trend"); n != 7 {
		t.Errorf("what was added up of removed tensors is not what is left: runs add up to %d, want 7", n)
	}
	mustStore(t, s.writer(t), steps) // as whatever is delivered again
	if n := s.number(t, "SELECT count() FROM tap_store.step"); n != 20 {
		t.Errorf("%d rows, want 20", n)
	}
}

func TestARebuildLeavesADatabaseOfItsNameAlone(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	s.exec(t, "CREATE DATABASE tap_store_next COMMENT 'mine'")
	s.exec(t, "CREATE TABLE tap_store_next.decided_exchange (name String, uuid UUID) ENGINE = MergeTree ORDER BY name")
	s.exec(t, "INSERT INTO tap_store_next.decided_exchange VALUES ('tensor', generateUUIDv4())")
	if what, err := clickhouse.FinishRebuild(t.Context(), s.conn); what != clickhouse.NotInterrupted || err != nil {
		t.Errorf("FinishRebuild = %d, %v", what, err)
	}
	if _, err := clickhouse.BeginRebuild(t.Context(), s.conn); err == nil || !strings.Contains(err.Error(), "tap_store_next") {
		t.Errorf("BeginRebuild = %v, want that there is such a database", err)
	}
	if n := s.number(t, "SELECT count() FROM tap_store_next.decided_exchange"); n != 1 {
		t.Errorf("of 1 row of somebody else's %d are left", n)
	}
}

func TestARebuildThatIsNotDecidedIsGivenUp(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	steps := consumertest.Messages(consumertest.Batches(t, "step", consumertest.Producer(1), 4, 5))
	mustStore(t, s.writer(t), steps)
	s.beginRebuild(t)
	s.exec(t, "CREATE TABLE tap_store_next.decided_exchange (name String, uuid UUID) ENGINE = MergeTree ORDER BY name") // and killed
	for _, want := range []clickhouse.Interrupted{clickhouse.GaveUp, clickhouse.NotInterrupted} {
		if got, err := clickhouse.FinishRebuild(t.Context(), s.conn); got != want || err != nil {
			t.Errorf("FinishRebuild = %d, %v, want %d", got, err, want)
		}
	}
	if n := s.number(t, countNext) + s.number(t, "SELECT count() FROM tap_store.step"); n != 20 {
		t.Errorf("%d databases and rows, want only the 20 rows", n)
	}
}
