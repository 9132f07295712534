package parquet

import (
	"bytes"
	"errors"
	"fmt"
	"os"
)

// compactFrom is the size of a manifest, in bytes, from which on it is worth to be written anew.
const compactFrom = 64 << 10

// needs says whether an archive of that listing is another one without a line.
func (l *listing) needs(e entry) bool {
	switch {
	case e.Deleted != 0:
		return true
	case e.Lost != "":
		return !l.deletes(e.File)
	}
	_, there := l.files[e.File]
	return there
}

// compact writes the manifest anew where most of it is about files that are gone: with their runs, or lost. Damaged lines stay, so
// that each Open tells of them. A process that dies meanwhile leaves the old manifest or the new one, which come to the same.
func (w *Writer) compact(now *listing) error {
	text, err := w.manifest.from(0)
	if err != nil || len(text) < compactFrom {
		return err
	}
	var kept []byte
	for line := range bytes.Lines(text) {
		if e, err := parseLine(bytes.TrimSuffix(line, []byte("\n"))); err != nil || now.needs(e) {
			kept = append(kept, line...)
		}
	}
	if len(kept) > len(text)/2 {
		return nil
	}
	return w.replaceManifest(kept)
}

func (w *Writer) replaceManifest(text []byte) error {
	f, err := w.cfg.Disk.OpenFile(w.tmp("manifest"), os.O_RDWR|os.O_CREATE)
	if err != nil {
		return fmt.Errorf("write manifest anew: %w", err)
	}
	if _, err = f.WriteAt(text, 0); err == nil {
		err = f.Sync()
	}
	if err == nil {
		err = w.cfg.Disk.Rename(w.tmp("manifest"), w.path("manifest"))
	}
	if err == nil {
		err = w.cfg.Disk.SyncFolder(w.cfg.Dir)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("write manifest anew in %d bytes: %w", len(text), err), f.Close())
	}
	old := w.manifest
	w.manifest = &manifest{file: f, size: int64(len(text))}
	return old.close()
}
