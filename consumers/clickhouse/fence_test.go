package clickhouse_test

import (
	"errors"
	"io"
	"slices"
	"testing"
	"time"

	chgo "github.com/ClickHouse/clickhouse-go/v2"
	"golang.org/x/sync/errgroup"

	"github.com/tensortap/tensortap/consumers/clickhouse"
	"github.com/tensortap/tensortap/consumers/consumertest"
	"github.com/tensortap/tensortap/schemas"
)

// claim is the writer of a process that claims the name "part".
func (s *server) claim(tb testing.TB, holder string) *clickhouse.Writer {
	tb.Helper()
	fence, err := clickhouse.Claim(tb.Context(), s.conn, "part", holder)
	if err != nil {
		tb.Fatal(err)
	}
	cfg := clickhouse.DefaultConfig()
	cfg.InsertTimeout, cfg.QueryTimeout = 20*time.Second, 10*time.Second
	cfg.Name, cfg.Fence = fence.Name, &fence
	w, err := clickhouse.New(cfg, s.conn)
	if err != nil {
		tb.Fatal(err)
	}
	return w
}

// TestWritersBehindAFence has one server for all that is said of them.
func TestWritersBehindAFence(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	s.exec(t, "SYSTEM STOP MERGES tap_store.tensor")
	t.Run("store one part per day", s.storesOnePartPerDay)                       //nolint:paralleltest // the cases share the server's tables
	t.Run("store every kind with every value", s.storesEveryKind)                //nolint:paralleltest // the cases share the server's tables
	t.Run("store nothing once they are overtaken", s.storesNothingOnceOvertaken) //nolint:paralleltest // the cases share the server's tables
	t.Run("have no insert left once they are overtaken", s.leavesNoInsert)       //nolint:paralleltest // the cases share the server's tables
}

func (s *server) storesOnePartPerDay(t *testing.T) {
	batches := consumertest.Batches(t, "tensor", consumertest.Producer(1), 300, 500) // on three days
	mustStore(t, s.claim(t, "it's \\one"), consumertest.Messages(batches))
	if got := s.number(t, "SELECT count() FROM system.parts WHERE database = 'tap_store' AND table = 'tensor' AND active"); got != 3 {
		t.Errorf("150,000 rows of three days became %d parts, want 3", got)
	}
}

func (s *server) storesEveryKind(t *testing.T) {
	s.empty(t)
	fenced, plain := s.claim(t, "me"), s.writer(t)
	for i, table := range schemas.Tables() {
		messages := consumertest.Messages(consumertest.Batches(t, table.Kind(), consumertest.Producer(uint64(i)), 3, 10))
		mustStore(t, plain, messages)
		want := s.Rows(t, table.Kind())
		s.exec(t, "TRUNCATE TABLE tap_store."+table.Kind())
		mustStore(t, fenced, messages)
		got := s.Rows(t, table.Kind())
		slices.Sort(want)
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("%s: %d rows from behind a fence, %d others without, or other values", table.Kind(), len(got), len(want))
		}
	}
}

func (s *server) storesNothingOnceOvertaken(t *testing.T) {
	s.empty(t)
	for _, kind := range []string{"tensor", "op"} {
		messages := consumertest.Messages(consumertest.Batches(t, kind, consumertest.Producer(1), 3, 10))
		old := s.claim(t, "old")
		mustStore(t, old, messages[:1])
		latest := s.claim(t, "latest")
		for range 2 {
			if err := old.Write(t.Context(), messages); !clickhouse.Fenced(err) {
				t.Fatalf("%s: a writer that was overtaken stores with %v, want that it is fenced", kind, err)
			}
		}
		if got := s.number(t, "SELECT count() FROM tap_store."+kind); got != 10 {
			t.Errorf("%s holds %d rows before the latest has stored any, want 10", kind, got)
		}
		mustStore(t, latest, messages)
		if err := old.Write(t.Context(), messages); err != nil && !clickhouse.Fenced(err) {
			t.Errorf("%s: all is stored, and the writer that was overtaken says %v", kind, err)
		}
		if got := len(s.Rows(t, kind)); got != 30 {
			t.Errorf("%s holds %d rows, want 30", kind, got)
		}
	}
}

// leavesNoInsert has the request of a process that was stopped in its middle.
func (s *server) leavesNoInsert(t *testing.T) {
	s.empty(t)
	messages := consumertest.Messages(consumertest.Batches(t, "tensor", consumertest.Producer(1), 2, 5000)) // more than buffers on the way take
	fence, err := clickhouse.Claim(t.Context(), s.conn, "part", "old")
	if err != nil {
		t.Fatal(err)
	}
	body, send := io.Pipe()
	var old errgroup.Group
	old.Go(func() error {
		ctx := chgo.Context(t.Context(), chgo.WithQueryID("tensortap/part/tensor/old/1"))
		return errors.Join(s.conn.InsertFormat(ctx, "ArrowStream", clickhouse.IntoSQL(fence, "tensor"), body), body.Close())
	})
	text := clickhouse.Encoded(t, "tensor", messages)
	if _, err := send.Write(text[:len(text)/2]); err != nil {
		t.Fatal(err)
	}
	for s.number(t, "SELECT count() FROM system.processes WHERE query_id = 'tensortap/part/tensor/old/1'") == 0 {
		time.Sleep(time.Millisecond)
	}
	var latest errgroup.Group
	latest.Go(func() error { return s.claim(t, "latest").Write(t.Context(), messages) })
	for s.number(t, "SELECT toUInt64(countIf(NOT is_cancelled) = 0) FROM system.processes WHERE query_id = 'tensortap/part/tensor/old/1'") == 0 {
		time.Sleep(time.Millisecond)
	}
	_, sent := send.Write(text[len(text)/2:])
	_ = send.Close()
	if err := latest.Wait(); err != nil {
		t.Fatal(err)
	}
	if err := old.Wait(); err == nil {
		t.Errorf("an insert of a term that had ended is stored (its body: %v)", sent)
	}
	if got := s.number(t, "SELECT count() FROM tap_store.tensor"); got != 10_000 {
		t.Errorf("tensor holds %d rows, want 10,000", got)
	}
}

func TestAFenceIsOfTheWritersName(t *testing.T) {
	t.Parallel()
	cfg := clickhouse.DefaultConfig()
	cfg.Fence = &clickhouse.Fence{Name: "other", Holder: "me"}
	if _, err := clickhouse.New(cfg, nil); err == nil {
		t.Error("a writer stands behind another's fence")
	}
	if clickhouse.Fenced(errors.New("away")) || clickhouse.Fenced(&schemas.RejectedError{}) {
		t.Error("any error is taken for the fence")
	}
}
