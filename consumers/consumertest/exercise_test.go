package consumertest_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"testing"

	"github.com/tensortap/tensortap/consumers/consumertest"
	"github.com/tensortap/tensortap/schemas"
)

// memory is the simplest store that keeps every promise.
type memory struct {
	rows   map[string][]string
	stored map[string]bool
	broken bool
}

func (m *memory) Open(*testing.T) consumertest.Write { return m.write }

func (m *memory) Rows(_ *testing.T, kind string) []string { return m.rows[kind] }

func (m *memory) Break(*testing.T) { m.broken = true }

func (m *memory) Mend(*testing.T) { m.broken = false }

func (m *memory) write(ctx context.Context, messages []schemas.Message) error {
	if m.broken {
		return errors.New("store 1 message: it is down")
	}
	rejected := map[int]string{}
	for i, message := range messages {
		record, err := message.Record()
		if err != nil {
			rejected[i] = err.Error()
			continue
		}
		if !m.stored[message.ID()] && ctx.Err() == nil {
			m.stored[message.ID()] = true
			m.rows[message.Header.Kind] = append(m.rows[message.Header.Kind], consumertest.RecordTexts(record)...)
		}
	}
	if len(rejected) > 0 {
		return &schemas.RejectedError{Reasons: rejected}
	}
	return ctx.Err()
}

func TestAStoreInMemoryPassesTheSuite(t *testing.T) {
	t.Parallel()
	consumertest.Exercise(t, func(*testing.T) consumertest.Store {
		return &memory{rows: map[string][]string{}, stored: map[string]bool{}}
	})
}

func TestEveryKindHasRandomRowsThatAreTheSameEachTime(t *testing.T) {
	t.Parallel()
	for _, table := range schemas.Tables() {
		first := consumertest.Batches(t, table.Kind(), consumertest.Producer(1), 2, 30)
		again := consumertest.Batches(t, table.Kind(), consumertest.Producer(1), 2, 30)
		seen := map[string]bool{}
		for i := range first {
			if !slices.Equal(first[i].Rows, again[i].Rows) {
				t.Errorf("batch %d of %s differs the second time", i, table.Kind())
			}
			for _, row := range first[i].Rows {
				seen[row] = true
			}
		}
		if len(seen) != 60 {
			t.Errorf("%s has %d different rows of 60: %v", table.Kind(), len(seen), slices.Collect(maps.Keys(seen))[:1])
		}
	}
}
