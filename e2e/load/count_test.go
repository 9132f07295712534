package load

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/tensortap/tensortap/consumers/parquet"
	"github.com/tensortap/tensortap/schemas"
)

// held is what a store has of a rank's tensors.
type held struct {
	batches, rows uint64
	other         uint64 // batches with another number of rows than a step has
}

// judged is how many steps of ranks have a verdict.
const judged = "SELECT toFloat64(count()) FROM tap.judged_steps"

// requireAllOnce ends the roles that store, and checks that tables and archive have each step of each rank once.
func (w *world) requireAllOnce(tb testing.TB) {
	tb.Helper()
	steps := w.crowd.rest(tb)
	w.stored(tb, tables, archive)
	w.requireTold(tb, steps)
	await(tb, "the judge to have judged a step", func() bool {
		time.Sleep(50 * time.Millisecond)
		return w.number(tb, judged) > 0
	})
	w.requireHeld(tb, "the tables", w.inTables(tb, "tensor", w.crowd.rows), steps.Steps, w.crowd.rows)
	w.requireHeld(tb, "the tables of steps", w.inTables(tb, "step", 1), steps.Steps, 1)
	for _, role := range roleNames() {
		if err := w.roles[role].Stop(); err != nil {
			tb.Errorf("%s: %v", role, err)
		}
	}
	w.requireHeld(tb, "the archive", w.inArchive(tb), steps.Steps, w.crowd.rows)
}

// requireTold checks that no publisher had to wait, or put anything aside.
func (w *world) requireTold(tb testing.TB, t tally) {
	tb.Helper()
	if t.Waits > 0 || t.Dead > 0 {
		tb.Errorf("publishers waited %d times for the stream, and put %d messages aside; want none", t.Waits, t.Dead)
	}
}

func (w *world) requireHeld(tb testing.TB, store string, have map[place]held, steps []uint64, rows int) {
	tb.Helper()
	var lost, twice, events uint64
	for agent, n := range steps {
		id := w.crowd.of.identity(agent)
		got := have[place{id.RunID, id.Rank}]
		lost += n - min(n, got.batches)
		twice += max(n, got.batches) - n
		events += n
		if got.other > 0 || got.rows != n*uint64(rows) { //nolint:gosec // few
			tb.Errorf("%s have %d rows of rank %d of %s in %d batches, %d of other sizes; want %d batches of %d",
				store, got.rows, id.Rank, w.crowd.of.runOf(agent), got.batches, got.other, n, rows)
		}
	}
	if lost > 0 || twice > 0 || len(have) != len(steps) {
		tb.Errorf("%s lack %d batches and have %d more than once, of %d ranks", store, lost, twice, len(have))
	}
	tb.Logf("%s have %d events of %d ranks: %d batches lost, %d twice", store, events*uint64(rows), len(have), lost, twice) //nolint:gosec // few
}

// inTables counts by run, rank and batch.
func (w *world) inTables(tb testing.TB, table string, rows int) map[place]held {
	tb.Helper()
	answer, err := w.conn.Query(tb.Context(), fmt.Sprintf("SELECT run_id, rank, count(), sum(n), countIf(n != %d) FROM ("+
		"SELECT run_id, rank, epoch, batch, count() AS n FROM tap_store.%s WHERE run_id IN (%s) GROUP BY run_id, rank, epoch, batch) GROUP BY run_id, rank",
		rows, table, runIDs()))
	if err != nil {
		tb.Fatal(err)
	}
	have := map[place]held{}
	for answer.Next() {
		var at place
		var h held
		if err := answer.Scan(&at.run, &at.rank, &h.batches, &h.rows, &h.other); err != nil {
			tb.Fatal(err)
		}
		have[at] = h
	}
	if err := errors.Join(answer.Err(), answer.Close()); err != nil {
		tb.Fatal(err)
	}
	return have
}

// inArchive counts what the manifest lists. A file whose batches are of several ranks has as many rows of each batch.
func (w *world) inArchive(tb testing.TB) map[place]held {
	tb.Helper()
	cfg := parquet.DefaultConfig()
	cfg.Dir = w.folder()
	writer, err := parquet.New(cfg)
	if err != nil {
		tb.Fatal(err)
	}
	found, err := writer.Open(tb.Context())
	if err != nil || found.Damaged() || found.Adopted+found.Aside > 0 {
		tb.Fatalf("open the archive: %+v, %v", found, err)
	}
	defer func() {
		if err := writer.Close(); err != nil {
			tb.Error(err)
		}
	}()
	have := map[place]held{}
	err = writer.Listed(func(batches []schemas.Batches, rows uint64) {
		var n uint64
		for _, b := range batches {
			n += b.Count()
		}
		for _, b := range batches {
			if b.Kind != "tensor" {
				return
			}
			h := have[place{b.RunID, b.Rank}]
			h.batches += b.Count()
			h.rows += b.Count() * rows / n
			if rows != n*uint64(w.crowd.rows) {
				h.other++
			}
			have[place{b.RunID, b.Rank}] = h
		}
	})
	if err != nil {
		tb.Fatal(err)
	}
	return have
}
