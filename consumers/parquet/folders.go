package parquet

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
)

// place renames a durable file to its name in the archive, durably.
func (w *Writer) place(from, name string) error {
	to := w.path(name)
	folder := filepath.Dir(to)
	if err := w.cfg.Disk.MkdirAll(folder); err != nil {
		return fmt.Errorf("make folder: %w", err)
	}
	if err := w.cfg.Disk.Rename(from, to); err != nil {
		return fmt.Errorf("move file into the archive: %w", err)
	}
	return w.syncNames(folder)
}

// syncNames makes durable that a folder is in the archive, and the names in it.
func (w *Writer) syncNames(folder string) error {
	w.mu.Lock()
	err := w.syncParents(folder)
	w.mu.Unlock()
	if err != nil {
		return err
	}
	return w.cfg.Disk.SyncFolder(folder)
}

// syncParents makes durable that folder is in the archive, once per process. Those above it come first: if one of them
// fails, the next call begins there again. The mutex is held.
func (w *Writer) syncParents(folder string) error {
	if folder == filepath.Clean(w.cfg.Dir) || w.synced[folder] {
		return nil
	}
	parent := filepath.Dir(folder)
	if err := w.syncParents(parent); err != nil {
		return err
	}
	if err := w.cfg.Disk.SyncFolder(parent); err != nil {
		return err
	}
	w.synced[folder] = true
	return nil
}

// remove removes a file that does not count. If that is not possible now, no
// write succeeds until it is: readers take every file in the folders for rows.
func (w *Writer) remove(path string) error {
	err := w.cfg.Disk.Remove(path)
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stray = append(w.stray, path)
	return fmt.Errorf("remove file that does not count: %w", err)
}

// sweep removes files that could not be removed before.
func (w *Writer) sweep() error {
	w.mu.Lock()
	stray := w.stray
	w.stray = nil
	w.mu.Unlock()
	var errs []error
	for _, path := range stray {
		errs = append(errs, w.remove(path))
	}
	return errors.Join(errs...)
}
