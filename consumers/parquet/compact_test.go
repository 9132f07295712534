package parquet

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/tensortap/tensortap/consumers/consumertest"
	"github.com/tensortap/tensortap/internal/durable"
	"github.com/tensortap/tensortap/schemas"
)

// writeRanks gives a run a file with a batch of each of so many ranks, which makes a long line.
func writeRanks(t *testing.T, w *Writer, run uint64, ranks int) {
	t.Helper()
	var messages []schemas.Message
	for rank := range ranks {
		of := consumertest.Producer(run)
		of.Rank = uint32(rank) //nolint:gosec // small
		messages = append(messages, consumertest.Messages(consumertest.Batches(t, "step", of, 1, 1))...)
	}
	must(t, w.Write(t.Context(), messages))
}

func manifestSize(t *testing.T, dir string) int64 {
	t.Helper()
	info, err := os.Stat(filepath.Join(dir, "manifest"))
	must(t, err)
	return info.Size()
}

// openUntil opens an archive as a process that is killed after so many changes.
func openUntil(t *testing.T, dir string, changes int) error {
	t.Helper()
	cfg := DefaultConfig()
	cfg.Dir, cfg.Disk = dir, durable.Disk{Before: func(durable.Change) error {
		if changes--; changes < 0 {
			return errKilled
		}
		return nil
	}}
	w, err := New(cfg)
	must(t, err)
	if _, err = w.Open(t.Context()); err == nil {
		kill(t, w)
	}
	return err
}

func TestLinesOfDeletedRunsGoWhateverKillsThat(t *testing.T) {
	t.Parallel()
	const ranks = 1200
	for changes, done := 0, false; !done; changes++ {
		dir := filepath.Join(t.TempDir(), "archive")
		w, _ := open(t, dir)
		gone, kept := consumertest.Producer(1).RunID, consumertest.Producer(2).RunID
		writeRanks(t, w, 1, ranks)
		writeRanks(t, w, 2, ranks/12)
		must(t, w.RemoveRun(gone))
		kill(t, w)
		before := manifestSize(t, dir)
		if before < compactFrom {
			t.Fatalf("the manifest has %d bytes, want enough to be written anew", before)
		}
		done = openUntil(t, dir, changes) == nil
		w, r := open(t, dir)
		if r.Damaged() || r.Adopted+r.Aside > 0 || len(w.Missing()) > 0 {
			t.Errorf("after %d changes, Open = %+v, missing %v", changes, r, w.Missing())
		}
		writeRanks(t, w, 3, 1) // goes to the manifest that is read next
		must(t, w.RemoveRun(gone))
		kill(t, w)
		w, _ = open(t, dir)
		kill(t, w)
		requireRun(t, dir, gone)
		requireRun(t, dir, kept, "step")
		requireRun(t, dir, consumertest.Producer(3).RunID, "step")
		if after := manifestSize(t, dir); after > before/5 {
			t.Errorf("after %d changes the manifest has %d bytes of %d", changes, after, before)
		}
	}
}

func TestAManifestOfFilesThatAreThereStaysAsItIs(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "archive")
	w, _ := open(t, dir)
	writeRanks(t, w, 1, 1000)
	writeRanks(t, w, 2, 1000)
	must(t, w.RemoveRun(consumertest.Producer(1).RunID))
	writeRanks(t, w, 3, 10)
	kill(t, w)
	before := manifestSize(t, dir)
	w, _ = open(t, dir)
	kill(t, w)
	if after := manifestSize(t, dir); after != before {
		t.Errorf("the manifest has %d bytes, and had %d, most of them needed", after, before)
	}
}
