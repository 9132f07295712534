package parquet

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/tensortap/tensortap/consumers/consumertest"
	"github.com/tensortap/tensortap/internal/durable"
	"github.com/tensortap/tensortap/schemas"
)

var errKilled = errors.New("killed")

// openMortal opens an archive that makes so many changes after dies is called, and no more, as a process that is killed then.
func openMortal(t *testing.T, dir string) (w *Writer, dies func(changes int)) {
	t.Helper()
	left := math.MaxInt
	cfg := DefaultConfig()
	cfg.Dir, cfg.Disk = dir, durable.Disk{Before: func(durable.Change) error {
		if left--; left < 0 {
			return errKilled
		}
		return nil
	}}
	w, err := New(cfg)
	must(t, err)
	_, err = w.Open(t.Context())
	must(t, err)
	t.Cleanup(func() { _ = durable.Unlock(w.lock.File) })
	return w, func(changes int) { left = changes }
}

// writeTwoRuns gives two runs files of several kinds, and the first a baseline of the same name, which is none of it.
func writeTwoRuns(t *testing.T, w *Writer) (first, second uint64) {
	t.Helper()
	one, two := consumertest.Producer(1), consumertest.Producer(2)
	for _, kind := range []string{"tensor", "step", "op", "baseline"} {
		for _, of := range []schemas.Identity{one, two} {
			must(t, w.Write(t.Context(), consumertest.Messages(consumertest.Batches(t, kind, of, 1, 20))))
		}
	}
	return one.RunID, two.RunID
}

// requireRun checks which kinds the archive has of a run.
func requireRun(t *testing.T, dir string, run uint64, kinds ...string) {
	t.Helper()
	shares, err := Shares(dir)
	must(t, err)
	var found []string
	for _, s := range shares {
		if s.RunID == run {
			found = append(found, s.Kind)
		}
	}
	slices.Sort(found)
	folders, _ := filepath.Glob(filepath.Join(dir, "event=*", "run="+schemas.FormatID(run)))
	if !slices.Equal(found, kinds) || len(folders) != len(kinds) {
		t.Errorf("of run %x the archive lists %v and has folders %v, want %v", run, found, folders, kinds)
	}
	for m, err := range Saved(t.Context(), dir) {
		must(t, err)
		if m.Header.Identity.RunID == run && !slices.Contains(kinds, m.Header.Kind) {
			t.Errorf("the archive gives a message of %s of run %x", m.Header.Kind, run)
		}
	}
}

func TestADeletedRunIsGoneWheneverThatIsKilled(t *testing.T) {
	t.Parallel()
	for changes := 0; ; changes++ {
		dir := filepath.Join(t.TempDir(), "archive")
		w, dies := openMortal(t, dir)
		gone, kept := writeTwoRuns(t, w)
		dies(changes)
		killed := w.RemoveRun(gone)
		kill(t, w)
		w, r := open(t, dir)
		if r.Damaged() || r.Adopted+r.Aside > 0 || len(w.Missing()) > 0 {
			t.Errorf("after %d changes, Open = %+v, missing %v", changes, r, w.Missing())
		}
		must(t, w.RemoveRun(gone))
		kill(t, w)
		requireRun(t, dir, gone, "baseline")
		requireRun(t, dir, kept, "baseline", "op", "step", "tensor")
		if killed == nil {
			break
		}
	}
}

func TestWhatWasPutAsideOfADeletedRunGoesToo(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "archive")
	w, _ := open(t, dir)
	gone, _ := writeTwoRuns(t, w)
	kill(t, w)
	files, err := filepath.Glob(filepath.Join(dir, "event=tensor", "run="+schemas.FormatID(gone), "*"))
	if err != nil || len(files) != 1 {
		t.Fatalf("files of tensor: %v, %v", files, err)
	}
	must(t, os.Truncate(files[0], 100))
	w, r := open(t, dir)
	if r.Quarantined != 1 || len(w.Missing()) == 0 {
		t.Fatalf("Open = %+v, missing %v; want a damaged file", r, w.Missing())
	}
	must(t, w.RemoveRun(gone))
	kill(t, w)
	w, r = open(t, dir)
	aside, err := os.ReadDir(filepath.Join(dir, "quarantine"))
	if len(aside)+len(w.Missing()) > 0 || r.Damaged() {
		t.Errorf("after the run was removed: quarantine %v, %v; missing %v; Open = %+v", aside, err, w.Missing(), r)
	}
}

func TestOfARunWhoseTensorsGoTheRestStays(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "archive")
	w, _ := open(t, dir)
	of, other := writeTwoRuns(t, w)
	for range 2 {
		must(t, w.RemoveKinds(of, "tensor", "log"))
		kill(t, w)
		var r Recovery
		if w, r = open(t, dir); r.Damaged() || r.Adopted+r.Aside > 0 || len(w.Missing()) > 0 {
			t.Errorf("Open = %+v, missing %v", r, w.Missing())
		}
		requireRun(t, dir, of, "baseline", "op", "step")
		requireRun(t, dir, other, "baseline", "op", "step", "tensor")
	}
}

// A file that a crash left without a line is none of a run's that was deleted before, where its number is greater.
func TestAFileAfterADeletionIsAdopted(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "archive")
	w, _ := open(t, dir)
	gone, _ := writeTwoRuns(t, w)
	must(t, w.RemoveRun(gone))
	again := consumertest.Messages(consumertest.Batches(t, "tensor", consumertest.Producer(1), 1, 20))
	before, err := os.ReadFile(filepath.Join(dir, "manifest"))
	must(t, err)
	must(t, w.Write(t.Context(), again))
	kill(t, w)
	must(t, os.WriteFile(filepath.Join(dir, "manifest"), before, 0o600))
	if _, r := open(t, dir); r.Adopted != 1 {
		t.Errorf("Open = %+v, want the file adopted", r)
	}
	requireRun(t, dir, gone, "baseline", "tensor")
}

func TestWhatOfTheBeginningOfTheManifestIsLeftIsCounted(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "archive")
	w, _ := openMortal(t, dir)
	gone, kept := writeTwoRuns(t, w)
	text, err := w.ManifestFrom(0)
	must(t, err)
	must(t, w.Write(t.Context(), consumertest.Messages(consumertest.Batches(t, "memory", consumertest.Producer(2), 1, 20))))
	must(t, w.RemoveRun(gone))
	shares, err := SharesUntil(dir, int64(len(text)))
	must(t, err)
	var found []string
	for _, s := range shares {
		if s.RunID == kept || s.Kind != "baseline" {
			found = append(found, s.Kind)
		}
		if s.RunID == gone && s.Kind != "baseline" && schemas.OfRun(s.Kind) {
			t.Errorf("of the deleted run it counts %s", s.Kind)
		}
	}
	if slices.Contains(found, "memory") || !slices.Contains(found, "tensor") {
		t.Errorf("it counts %v, want what the beginning lists and is left", found)
	}
}
