package parquet

import (
	"errors"
	"testing"

	"github.com/tensortap/tensortap/internal/durable"
)

// A loss of power would take the folder, and every file in it.
func TestAFolderThatCouldNotBeSyncedIsSyncedWithTheNextFile(t *testing.T) {
	t.Parallel()
	cfg := DefaultConfig()
	cfg.Dir = t.TempDir()
	opened, refused, synced := false, false, false
	cfg.Disk.Before = func(c durable.Change) error {
		if opened && c.Kind == durable.Sync && c.Path == cfg.Dir {
			synced, refused = refused, true
			if !synced {
				return errors.New("refused")
			}
		}
		return nil
	}
	w, err := New(cfg)
	must(t, err)
	_, err = w.Open(t.Context())
	must(t, err)
	defer w.Close() //nolint:errcheck // the test ends
	opened = true
	_, messages := batches(t, 1)
	if w.Write(t.Context(), messages) == nil || !refused {
		t.Fatal("Write = nil, want that a folder could not be synced")
	}
	must(t, w.Write(t.Context(), messages))
	if !synced {
		t.Error("a batch is acknowledged, and the folder of its kind is not durable")
	}
}
