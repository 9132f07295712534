package parquet

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/tensortap/tensortap/internal/dev/forgetful"
	"github.com/tensortap/tensortap/internal/dev/soak"
	"github.com/tensortap/tensortap/schemas"
)

func TestALossOfPowerTakesNothingThatWasAcknowledged(t *testing.T) {
	t.Parallel()
	d := forgetful.Mount(t)
	_, messages := batches(t, 5)
	write := func(part []schemas.Message) {
		w, _ := open(t, archiveOn(d.Dir))
		for i := range part {
			must(t, w.Write(t.Context(), part[i:i+1]))
			d.Mark(fmt.Sprint(part[i].Header.Identity.Batch))
		}
		must(t, w.Close())
	}
	write(messages[:2])
	write(messages[2:4])
	d.Recording().Recover(t, 5, func(dir string, m *forgetful.Moment) {
		recovered(t, dir, m.Marks, messages)
	})
}

func archiveOn(disk string) string { return filepath.Join(disk, "data", "archive") }

// recovered opens an archive after a loss of power and checks that it has the acknowledged batches once, and takes all.
func recovered(t *testing.T, disk string, acknowledged []string, messages []schemas.Message) {
	t.Helper()
	w, r := open(t, archiveOn(disk))
	defer kill(t, w)
	stored := storedBatches(t, w)
	for _, batch := range acknowledged {
		if !slices.Contains(stored, batch) {
			t.Errorf("batch %s was acknowledged and is not stored; Open = %+v", batch, r)
		}
	}
	if missing := w.Missing(); len(missing) > 0 {
		t.Errorf("Missing() = %v; Open = %+v", missing, r)
	}
	must(t, w.Write(t.Context(), messages))
	if stored = storedBatches(t, w); len(stored) != len(messages) {
		t.Errorf("batches %v are stored, want each of %d once", stored, len(messages))
	}
}

func storedBatches(t *testing.T, w *Writer) (stored []string) {
	t.Helper()
	for m, err := range Saved(t.Context(), w.cfg.Dir, "tensor") {
		must(t, err)
		stored = append(stored, fmt.Sprint(m.Header.Identity.Batch))
	}
	return stored
}

// A process that is killed leaves what it did not sync, and the next process builds on that.
func TestALossOfPowerAfterAKillTakesNothingThatWasAcknowledged(t *testing.T) {
	t.Parallel()
	d := forgetful.Mount(t)
	_, messages := batches(t, 3)
	every := 2
	if soak.InFull() {
		every = 1
	}
	for operations := 0; ; operations += every {
		w, _ := open(t, archiveOn(d.Dir))
		must(t, w.Write(t.Context(), messages[:1]))
		d.RefuseAfter(operations)
		err := w.Write(t.Context(), messages[1:2])
		d.Heal()
		kill(t, w)
		w, _ = open(t, archiveOn(d.Dir))
		must(t, w.Write(t.Context(), messages[:2]))
		d.Mark(fmt.Sprintf("killed after %d operations", operations))
		kill(t, w)
		must(t, os.RemoveAll(filepath.Join(d.Dir, "data")))
		if err == nil {
			break
		}
	}
	d.Recording().RecoverAtMarks(t, func(dir string, _ *forgetful.Moment) {
		recovered(t, dir, []string{"0", "1"}, messages)
	})
}
