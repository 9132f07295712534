package parquet

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tensortap/tensortap/schemas"
)

// Share is what an archive holds of a run and kind.
type Share struct {
	RunID uint64
	Kind  string
	Files int
	Rows  uint64
	Bytes uint64
}

// Shares are those of all runs, by the manifest of the archive in a folder. Where there is no archive there are none.
func Shares(dir string) ([]Share, error) {
	text, err := os.ReadFile(filepath.Join(dir, "manifest"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read what the archive holds: %w", err)
	}
	lines, _ := parseLines(text)
	var shares []Share
	places := map[Share]int{}
	for _, e := range oldestFirst(current(lines).files) {
		of := Share{RunID: uint64(e.Run), Kind: e.Kind}
		place, known := places[of]
		if !known {
			place = len(shares)
			places[of], shares = place, append(shares, of)
		}
		shares[place].Files++
		shares[place].Rows += uint64(e.Rows)  //nolint:gosec // a count
		shares[place].Bytes += uint64(e.Size) //nolint:gosec // a size
	}
	return shares, nil
}

// RemoveRun takes all files of a run out of the archive, those in quarantine too. It may be repeated, and killed: a line of
// the manifest decides it, and the next Open removes what files are left. Nobody may write messages of the run meanwhile,
// nor after.
func (w *Writer) RemoveRun(runID uint64) error {
	lines, err := w.lines()
	if err != nil {
		return err
	}
	now := current(lines)
	var gone []entry
	for _, e := range now.files {
		if goes(e.Kind, uint64(e.Run), runID) {
			gone = append(gone, e)
		}
	}
	if len(gone) > 0 || slices.ContainsFunc(now.lost, func(b schemas.Batches) bool { return goes(b.Kind, b.RunID, runID) }) {
		if err := w.manifest.add(entry{Run: id(runID), Deleted: w.next.Add(1)}); err != nil {
			return fmt.Errorf("remove run %s from the archive: %w", schemas.FormatID(runID), err)
		}
	}
	for _, e := range gone {
		for _, span := range e.spans() {
			w.ledger.Remove(span)
		}
	}
	w.mu.Lock()
	w.lost = slices.DeleteFunc(w.lost, func(b schemas.Batches) bool { return goes(b.Kind, b.RunID, runID) })
	w.mu.Unlock()
	return w.removeFiles(runID)
}

func (w *Writer) lines() ([]entry, error) {
	if w.manifest == nil {
		return nil, errors.New("remove a run from the archive: it is not open")
	}
	lines, _, err := w.manifest.read()
	return lines, err
}

// goes says whether batches go with a run.
func goes(kind string, of, runID uint64) bool { return of == runID && schemas.OfRun(kind) }

// removeFiles removes the folders of a run, and what was put aside of it.
func (w *Writer) removeFiles(runID uint64) error {
	folders, err := fs.Glob(os.DirFS(string(w.folder)), "event=*/run="+schemas.FormatID(runID))
	if err != nil {
		return fmt.Errorf("list folders of the archive: %w", err)
	}
	for _, name := range folders {
		kind, _ := strings.CutPrefix(path.Dir(name), "event=")
		if !schemas.OfRun(kind) {
			continue
		}
		folder := w.path(name)
		if err := errors.Join(w.cfg.Disk.RemoveAll(folder), w.cfg.Disk.SyncFolder(filepath.Dir(folder))); err != nil {
			return fmt.Errorf("remove folder of the archive: %w", err)
		}
		w.mu.Lock()
		delete(w.synced, folder)
		w.mu.Unlock()
	}
	return w.removeAside(runID)
}

func (w *Writer) removeAside(runID uint64) error {
	aside, err := fs.Glob(os.DirFS(string(w.folder)), "quarantine/event=*.run="+schemas.FormatID(runID)+".*")
	if err != nil || len(aside) == 0 {
		return err
	}
	for _, file := range aside {
		if err := w.cfg.Disk.Remove(w.path(file)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove a file of quarantine: %w", err)
		}
	}
	return w.cfg.Disk.SyncFolder(w.path("quarantine"))
}
