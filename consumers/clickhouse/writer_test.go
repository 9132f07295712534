package clickhouse_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	chgo "github.com/ClickHouse/clickhouse-go/v2"
	"github.com/klauspost/compress/s2"
	"golang.org/x/sync/errgroup"

	"github.com/tensortap/tensortap/consumers/clickhouse"
	"github.com/tensortap/tensortap/consumers/consumertest"
	"github.com/tensortap/tensortap/schemas"
)

func TestClickHouseKeepsThePromisesOfAConsumer(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	consumertest.Exercise(t, func(t *testing.T) consumertest.Store {
		t.Helper()
		s.empty(t)
		return s
	})
}

func TestOneInsertIsOnePartPerDay(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	s.exec(t, "SYSTEM STOP MERGES tap_store.tensor")
	batches := consumertest.Batches(t, "tensor", consumertest.Producer(1), 300, 500) // on three days
	mustStore(t, s.writer(t), consumertest.Messages(batches))
	if got := s.number(t, "SELECT count() FROM system.parts WHERE database = 'tap_store' AND table = 'tensor' AND active"); got != 3 {
		t.Errorf("150,000 rows of three days became %d parts, want 3", got)
	}
}

func TestBatchOfOtherRowCountIsRejected(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	w := s.writer(t)
	id := consumertest.Producer(1)
	mustStore(t, w, consumertest.Messages(consumertest.Batches(t, "tensor", id, 2, 10)))
	other := consumertest.Messages(consumertest.Batches(t, "tensor", id, 3, 11))
	err := w.Write(t.Context(), other)
	var rejected *schemas.RejectedError
	if !errors.As(err, &rejected) || len(rejected.Reasons) != 2 || !strings.Contains(rejected.Reasons[0], id.String()) {
		t.Fatalf("Write of two batches with other rows under a stored identity = %v, want both rejected by name", err)
	}
	if got := s.number(t, "SELECT count() FROM tap_store.tensor"); got != 31 {
		t.Errorf("tensor holds %d rows, want 31", got)
	}
}

func TestBatchStoredInPartIsAnAlarm(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	w := s.writer(t)
	batches := consumertest.Batches(t, "tensor", consumertest.Producer(1), 2, 10)
	mustStore(t, w, consumertest.Messages(batches[:1]))
	// the table refuses every insert, and meanwhile a part of the second batch gets in by another door
	second := batches[1].Message.Header.Identity
	s.exec(t, fmt.Sprintf("INSERT INTO tap_store.tensor (run_id, rank, epoch, batch) VALUES (%d, %d, %d, %d)", second.RunID, second.Rank, second.Epoch, second.Batch))
	s.exec(t, "ALTER TABLE tap_store.tensor ADD CONSTRAINT never CHECK run_id = 0")
	err := w.Write(t.Context(), consumertest.Messages(batches[1:]))
	if err == nil || !strings.Contains(err.Error(), "alarm: batch "+second.String()) {
		t.Fatalf("Write of a batch that is there in part = %v, want an alarm", err)
	}
}

func TestMessageOfTwoDaysIsRejected(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	const dayNs = 24 * 3600 * 1_000_000_000
	honest := consumertest.Batches(t, "tensor", consumertest.Producer(1), 4, 10)
	twoDays, liar := honest[1].Message, honest[2].Message
	twoDays.Header.MaxEventTimeNs += dayNs
	liar.Header.MinEventTimeNs, liar.Header.MaxEventTimeNs = 20_100*dayNs, 20_100*dayNs+5
	err := s.writer(t).Write(t.Context(), []schemas.Message{honest[0].Message, twoDays, liar, honest[3].Message})
	var rejected *schemas.RejectedError
	if !errors.As(err, &rejected) || len(rejected.Reasons) != 2 || rejected.Reasons[1] == "" || rejected.Reasons[2] == "" {
		t.Fatalf("Write = %v, want the messages 1 and 2 rejected", err)
	}
	if got := s.number(t, "SELECT count() FROM tap_store.tensor"); got != 20 {
		t.Errorf("tensor holds %d rows, want 20", got)
	}
}

func TestRowsThatTheTableRefusesAreFoundByBisection(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	bad := []int{3, 4, 17}
	ops := consumertest.Batches(t, "op", consumertest.Producer(1), 20, 10)
	for kind, check := range map[string]string{"step": "batch NOT IN (3, 4, 17)", "op": "op_id NOT IN (" + opIDs(t, ops, bad) + ")"} {
		batches := consumertest.Batches(t, kind, consumertest.Producer(1), 20, 10)
		s.exec(t, "ALTER TABLE tap_store."+kind+" ADD CONSTRAINT picky CHECK "+check)
		err := s.writer(t).Write(t.Context(), consumertest.Messages(batches))
		var rejected *schemas.RejectedError
		if !errors.As(err, &rejected) || len(rejected.Reasons) != 3 {
			t.Fatalf("%s: Write = %.300v, want 3 messages rejected", kind, err)
		}
		for _, i := range bad {
			if !strings.Contains(rejected.Reasons[i], "picky") {
				t.Errorf("%s: reason of message %d is %q, want one that names the constraint", kind, i, rejected.Reasons[i])
			}
		}
		if got := s.number(t, "SELECT count() FROM tap_store."+kind); got != 170 {
			t.Errorf("%s holds %d rows, want 170", kind, got)
		}
	}
}

// opIDs is the id of the first op in each of the batches at positions of.
func opIDs(t *testing.T, batches []consumertest.Batch, of []int) string {
	t.Helper()
	var list []string
	for _, i := range of {
		rows, err := schemas.DecodeRows[schemas.OpRow](batches[i].Message)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, strconv.FormatUint(rows[0].OpID, 10))
	}
	return strings.Join(list, ", ")
}

// TestTextThatLeavesItsBufferIsRejected corrupts an offset inside of sound
// Arrow framing, which only the server's own reader finds.
func TestTextThatLeavesItsBufferIsRejected(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	builder := schemas.NewBuilder[schemas.SiteRow]()
	for i := range uint64(64) {
		builder.Append(&schemas.SiteRow{SiteID: i, Role: "input", Path: "abcdefg"})
	}
	m, err := builder.Message(schemas.Identity{RunID: 1})
	if err != nil {
		t.Fatal(err)
	}
	stream, err := s2.Decode(nil, m.Data)
	if err != nil {
		t.Fatal(err)
	}
	offset := bytes.LastIndex(stream, []byte{20 * 7, 0, 0, 0, 21 * 7, 0, 0, 0})
	binary.LittleEndian.PutUint32(stream[offset:], 1<<30)
	m.Data = s2.Encode(nil, stream)
	var rejected *schemas.RejectedError
	if err := s.writer(t).Write(t.Context(), []schemas.Message{m}); !errors.As(err, &rejected) {
		t.Fatalf("Write = %v, want a rejection", err)
	}
	if got := s.engine.Restarts(); got != 0 {
		t.Errorf("the engine was restarted %d times, want 0", got)
	}
}

func TestTableWithoutAColumnIsNoFaultOfTheMessages(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	s.exec(t, "ALTER TABLE tap_store.step DROP COLUMN phase")
	err := s.writer(t).Write(t.Context(), consumertest.Messages(consumertest.Batches(t, "step", consumertest.Producer(1), 2, 5)))
	if rejected := (*schemas.RejectedError)(nil); err == nil || errors.As(err, &rejected) {
		t.Fatalf("Write = %v, want an error that is no rejection", err)
	}
}

func TestCorruptCopyDoesNotHideTheGoodOne(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	good := consumertest.Batches(t, "tensor", consumertest.Producer(1), 1, 10)[0].Message
	bad := good
	bad.Data = []byte("not this")
	err := s.writer(t).Write(t.Context(), []schemas.Message{bad, good, bad, good})
	var rejected *schemas.RejectedError
	if !errors.As(err, &rejected) || rejected.Reasons[0] == "" || rejected.Reasons[1] != "" {
		t.Fatalf("Write = %v, want message 0 rejected and 1 stored", err)
	}
	if got := s.number(t, "SELECT count() FROM tap_store.tensor"); got != 10 {
		t.Errorf("tensor holds %d rows, want 10", got)
	}
}

func TestForgottenProducersAreReadAgain(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	cfg := clickhouse.DefaultConfig()
	cfg.Producers = 2
	w, err := clickhouse.New(cfg, s.conn)
	if err != nil {
		t.Fatal(err)
	}
	var all []schemas.Message
	for p := range uint64(9) {
		messages := consumertest.Messages(consumertest.Batches(t, "tensor", consumertest.Producer(p), 4, 5))
		mustStore(t, w, []schemas.Message{messages[0], messages[2], messages[3]})
		all = append(all, messages...)
	}
	slices.Reverse(all)
	for chunk := range slices.Chunk(all, 3) {
		mustStore(t, w, chunk)
	}
	if got := s.number(t, "SELECT count() FROM tap_store.tensor"); got != 180 {
		t.Errorf("tensor holds %d rows, want 180", got)
	}
	if got := w.Counts(); got.Duplicates != 27 || got.Messages != 36 {
		t.Errorf("Counts = %+v, want 27 duplicates and 36 messages", got)
	}
}

func TestInsertThatNobodyWaitsForIsEndedFirst(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	// a stand-in for an INSERT that a killed process left running
	var running errgroup.Group
	ended := make(chan struct{})
	running.Go(func() error {
		defer close(ended)
		ctx := chgo.Context(t.Context(), chgo.WithQueryID("tensortap/clickhouse/tensor/before/1"))
		for {
			err := s.conn.Exec(ctx, "SELECT count() FROM numbers(100000000) WHERE NOT ignore(sleepEachRow(0.1)) SETTINGS function_sleep_max_microseconds_per_block = 0, max_block_size = 10")
			if !clickhouse.IDTaken(err) {
				return err
			}
		}
	})
	for s.number(t, "SELECT count() FROM system.processes WHERE query LIKE 'SELECT count() FROM numbers%' AND query_id = 'tensortap/clickhouse/tensor/before/1'") == 0 {
		select {
		case <-ended:
			t.Fatalf("the query of the process before ended too early: %v", running.Wait())
		case <-time.After(10 * time.Millisecond):
		}
	}
	mustStore(t, s.writer(t), consumertest.Messages(consumertest.Batches(t, "tensor", consumertest.Producer(1), 1, 5)))
	if err := running.Wait(); err == nil {
		t.Error("the query of the process before went on to its end, want it killed")
	}
}

// TestLedgerIsReadFromTheProjection checks that a look-up of batches reads only the few rows of the
// projection, whatever the table's size.
func TestLedgerIsReadFromTheProjection(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	s.exec(t, `INSERT INTO tap_store.tensor (run_id, rank, epoch, batch, event_time_ns, site_id)
		SELECT 7, number % 8, 9, intDiv(number, 8000), 1700000000000000000, sipHash64(number) FROM numbers(2000000)`)
	s.exec(t, "OPTIMIZE TABLE tap_store.tensor FINAL")
	w := s.writer(t)
	messages := consumertest.Messages(consumertest.Batches(t, "tensor", schemas.Identity{RunID: 7, Rank: 1, Epoch: 9, Batch: 100}, 400, 5))
	var bad *schemas.RejectedError
	if err := w.Write(t.Context(), messages); !errors.As(err, &bad) || len(bad.Reasons) != 150 {
		t.Fatalf("Write over 150 stored batches of other rows = %.200v, want those rejected", err)
	}
	for _, sql := range clickhouse.LedgerSQL("tap_store.tensor", "(7, 1, 9), (7, 2, 9)") {
		rows, err := s.conn.Query(t.Context(), "EXPLAIN indexes = 1, projections = 1 "+sql)
		if err != nil {
			t.Fatal(err)
		}
		var plan strings.Builder
		for rows.Next() {
			var line string
			if err := rows.Scan(&line); err != nil {
				t.Fatal(err)
			}
			plan.WriteString(line + "\n")
		}
		if err := rows.Err(); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(plan.String(), "ReadFromMergeTree (ledger)") {
			t.Errorf("the plan of\n%s\nis\n%s\nwant it to read the projection", sql, plan.String())
		}
	}
}

func mustStore(tb testing.TB, w *clickhouse.Writer, messages []schemas.Message) {
	tb.Helper()
	if err := w.Write(context.Background(), messages); err != nil {
		tb.Fatalf("Write(%d messages) = %v, want nil", len(messages), err)
	}
}
