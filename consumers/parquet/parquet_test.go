package parquet

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/tensortap/tensortap/consumers/consumertest"
	"github.com/tensortap/tensortap/internal/durable"
	"github.com/tensortap/tensortap/schemas"
)

func TestArchiveKeepsThePromisesOfEveryConsumer(t *testing.T) {
	t.Parallel()
	consumertest.Exercise(t, func(t *testing.T) consumertest.Store {
		t.Helper()
		return &store{dir: filepath.Join(t.TempDir(), "archive")}
	})
}

// store is an archive as the suite for all consumers sees it.
type store struct {
	dir string
	w   *Writer
}

func (s *store) Open(t *testing.T) consumertest.Write {
	t.Helper()
	kill(t, s.w)
	s.w, _ = open(t, s.dir)
	return s.w.Write
}

func (s *store) Rows(t *testing.T, kind string) []string {
	t.Helper()
	return rowsOf(t, s.w, kind)
}

func (s *store) Break(t *testing.T) {
	t.Helper()
	must(t, os.Rename(filepath.Join(s.dir, "tmp"), filepath.Join(s.dir, "aside")))
	must(t, os.WriteFile(filepath.Join(s.dir, "tmp"), nil, 0o600))
}

func (s *store) Mend(t *testing.T) {
	t.Helper()
	must(t, os.Remove(filepath.Join(s.dir, "tmp")))
	must(t, os.Rename(filepath.Join(s.dir, "aside"), filepath.Join(s.dir, "tmp")))
}

func open(t *testing.T, dir string) (*Writer, Recovery) {
	t.Helper()
	cfg := DefaultConfig()
	cfg.Dir = dir
	w, err := New(cfg)
	must(t, err)
	r, err := w.Open(t.Context())
	must(t, err)
	t.Cleanup(func() { _ = durable.Unlock(w.lock.File) })
	return w, r
}

// kill gives up the lock, as the end of a process does, and nothing else.
func kill(t *testing.T, w *Writer) {
	t.Helper()
	if w != nil {
		must(t, durable.Unlock(w.lock.File))
	}
}

func rowsOf(t *testing.T, w *Writer, kind string) []string {
	t.Helper()
	var rows []string
	for m, err := range Saved(t.Context(), w.cfg.Dir, kind) {
		must(t, err)
		record, err := m.Record()
		must(t, err)
		rows = append(rows, consumertest.RecordTexts(record)...)
	}
	return rows
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// batches is hostile rows of tensor.
func batches(t *testing.T, count int) ([]consumertest.Batch, []schemas.Message) {
	t.Helper()
	b := consumertest.Batches(t, "tensor", consumertest.Producer(1), count, 50)
	return b, consumertest.Messages(b)
}
