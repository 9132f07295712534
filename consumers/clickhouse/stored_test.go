package clickhouse_test

import (
	"slices"
	"testing"

	"github.com/tensortap/tensortap/consumers/clickhouse"
	"github.com/tensortap/tensortap/consumers/consumertest"
	"github.com/tensortap/tensortap/schemas"
)

func TestStoredMakesTheBatchesOfEveryKindAgain(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	w := s.writer(t)
	for _, table := range schemas.Tables() {
		batches := consumertest.Batches(t, table.Kind(), consumertest.Producer(3), 3, 20)
		for _, b := range batches {
			if err := w.Write(t.Context(), []schemas.Message{b.Message}); err != nil {
				t.Fatal(err)
			}
		}
		if table.Class == schemas.Definition {
			requireKeys(t, s, table, batches)
			continue
		}
		span := schemas.BatchOf(table.Kind(), batches[0].Message.Header.Identity)
		span.Last += 5 // more than there are
		var again []string
		for m, err := range clickhouse.Stored(t.Context(), s.conn, []schemas.Batches{span}) {
			if err != nil {
				t.Fatal(err)
			}
			record, err := m.Record()
			if err != nil {
				t.Fatal(err)
			}
			of := batches[m.Header.Identity.Batch-span.First].Message.Header
			if of.MinEventTimeNs != m.Header.MinEventTimeNs || of.MaxEventTimeNs != m.Header.MaxEventTimeNs {
				t.Errorf("times of %s are %d to %d, want %d to %d", m.ID(), m.Header.MinEventTimeNs, m.Header.MaxEventTimeNs, of.MinEventTimeNs, of.MaxEventTimeNs)
			}
			again = append(again, consumertest.RecordTexts(record)...)
		}
		requireSameRows(t, table.Kind(), again, batches)
	}
}

func requireSameRows(t *testing.T, kind string, got []string, batches []consumertest.Batch) {
	t.Helper()
	var want []string
	for _, b := range batches {
		want = append(want, b.Rows...)
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("%d rows of %s were made again, want %d, and the same", len(got), kind, len(want))
	}
}

func requireKeys(t *testing.T, s *server, table schemas.Table, batches []consumertest.Batch) {
	t.Helper()
	keys, err := clickhouse.Keys(t.Context(), s.conn, table)
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range batches {
		record, err := b.Message.Record()
		if err != nil {
			t.Fatal(err)
		}
		for _, key := range clickhouse.KeyHashes(table, record) {
			if !keys[key] {
				t.Errorf("a key of %s is not among those of its table", b.Message.ID())
			}
		}
	}
}
