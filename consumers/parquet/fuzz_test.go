package parquet

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/tensortap/tensortap/consumers/consumertest"
	"github.com/tensortap/tensortap/internal/durable"
	"github.com/tensortap/tensortap/schemas"
)

func FuzzMessageIsArchivedOrRefused(f *testing.F) {
	var w *Writer
	dir, archives := f.TempDir(), 0
	consumertest.Fuzz(f, func(t *testing.T, m schemas.Message) error {
		t.Helper()
		if w == nil {
			archives++
			cfg := DefaultConfig()
			cfg.Dir = filepath.Join(dir, strconv.Itoa(archives))
			var err error
			w, err = New(cfg)
			must(t, err)
			_, err = w.Open(t.Context())
			must(t, err)
		}
		err := w.Write(t.Context(), []schemas.Message{m})
		if err != nil {
			return err
		}
		for read, err := range Saved(t.Context(), w.cfg.Dir) {
			must(t, err)
			if _, err := read.Record(); err != nil || read.Header.Rows != m.Header.Rows {
				t.Errorf("%d rows of %s are read back as %d: %v", m.Header.Rows, m.Header.Kind, read.Header.Rows, err)
			}
		}
		must(t, durable.Unlock(w.lock.File))
		must(t, w.manifest.close())
		must(t, os.RemoveAll(w.cfg.Dir))
		w = nil // the archive has this batch, and would decode no other of its name
		return nil
	})
}
