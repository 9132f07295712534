package parquet

import (
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/tensortap/tensortap/consumers/consumertest"
)

// An archive may come from anywhere: `restore` reads the folder that it is given, and a start those files that no line names.
func TestAHostileFileOfAnArchiveIsNamedAndTakesNoMemory(t *testing.T) {
	t.Parallel()
	const place = "event=log/run=8000000000000001/000000000001.parquet"
	for name, rows := range map[string]int{"fewer rows than none": -5, "rows that are not there": math.MaxInt} {
		dir := t.TempDir()
		writeHostile(t, filepath.Join(dir, place), rows)
		requireUnread(t, name, dir)
	}
	dir := t.TempDir()
	path := filepath.Join(dir, place)
	writeHostile(t, path, 20)
	good, err := os.ReadFile(path)
	must(t, err)
	random := rand.New(rand.NewPCG(1, 2))
	end := len(good) - 8 // where the length of the footer stands
	for i := range 300 {
		spoilt := append([]byte{}, good...)
		for range 1 + random.IntN(3) {
			spoilt[random.IntN(len(spoilt))] = byte(random.Uint32()) //nolint:gosec // any byte
		}
		if i == 0 {
			copy(spoilt[end:], []byte{0xff, 0xff, 0xff, 0x7f})
		}
		must(t, os.WriteFile(path, spoilt, 0o600))
		for range Saved(t.Context(), dir) { // an error or rows; neither an end of the process nor much memory
		}
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	if m.HeapSys > 1<<30 {
		t.Errorf("spoilt files took %d bytes of the system", m.HeapSys)
	}
}

// writeHostile writes a file of one batch, whose metadata say that it has so many rows.
func writeHostile(t *testing.T, path string, rows int) {
	t.Helper()
	must(t, os.MkdirAll(filepath.Dir(path), 0o700))
	cfg := DefaultConfig()
	cfg.Dir = t.TempDir()
	w, err := New(cfg)
	must(t, err)
	s := w.shelves["log"]
	d, err := newDraft(cfg, path, s.form(), consumertest.Producer(1).RunID)
	must(t, err)
	m := consumertest.Batches(t, "log", consumertest.Producer(1), 1, 20)[0].Message
	record, err := m.Record()
	must(t, err)
	must(t, d.add(m, record))
	d.batches[0].Rows = rows
	_, err = d.finish()
	must(t, err)
}

func requireUnread(t *testing.T, name, dir string) {
	t.Helper()
	refused := 0
	for _, err := range Saved(t.Context(), dir) {
		if err != nil {
			refused++
		}
	}
	if refused != 1 {
		t.Errorf("%s: %d files are named as damaged, want 1", name, refused)
	}
}
