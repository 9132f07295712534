package parquet

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"math"
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
func Shares(dir string) ([]Share, error) { return SharesUntil(dir, math.MaxInt64) }

// SharesUntil counts those of the archive's files that so many bytes at the beginning of the manifest list.
func SharesUntil(dir string, end int64) ([]Share, error) {
	text, err := os.ReadFile(filepath.Join(dir, "manifest"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read what the archive holds: %w", err)
	}
	var shares []Share
	places := map[Share]int{}
	listed := map[string]bool{}
	for _, f := range ReadListing(text[:min(end, int64(len(text)))]).Files {
		listed[f.Name] = true
	}
	for _, f := range ReadListing(text).Files {
		if !listed[f.Name] {
			continue
		}
		of := Share{RunID: f.RunID, Kind: f.Kind}
		place, known := places[of]
		if !known {
			place = len(shares)
			places[of], shares = place, append(shares, of)
		}
		shares[place].Files++
		shares[place].Rows += f.Rows
		shares[place].Bytes += uint64(f.Bytes) //nolint:gosec // a size
	}
	return shares, nil
}

// RemoveRun takes all files of a run out of the archive, those in quarantine too. It may be repeated, and killed: a line of
// the manifest decides it, and the next Open removes what files are left. Nobody may write messages of the run meanwhile,
// nor after.
func (w *Writer) RemoveRun(runID uint64) error { return w.removeLine(entry{Run: id(runID)}) }

// RemoveKinds is RemoveRun for some kinds of its events.
func (w *Writer) RemoveKinds(runID uint64, kinds ...string) error {
	for _, kind := range kinds {
		if err := w.removeLine(entry{Run: id(runID), Kind: kind}); err != nil {
			return err
		}
	}
	return nil
}

// removeLine removes what a line of the manifest deletes.
func (w *Writer) removeLine(line entry) error {
	lines, err := w.lines()
	if err != nil {
		return err
	}
	now := current(lines)
	var gone []entry
	for _, e := range now.files {
		if line.deletes(e.Kind, uint64(e.Run)) {
			gone = append(gone, e)
		}
	}
	ofLine := func(b schemas.Batches) bool { return line.deletes(b.Kind, b.RunID) }
	if len(gone) > 0 || slices.ContainsFunc(now.lost, ofLine) {
		line.Deleted = w.next.Add(1)
		if err := w.manifest.add(line); err != nil {
			return fmt.Errorf("remove run %s from the archive: %w", schemas.FormatID(uint64(line.Run)), err)
		}
	}
	for _, e := range gone {
		for _, span := range e.spans() {
			w.ledger.Remove(span)
		}
	}
	w.mu.Lock()
	w.lost = slices.DeleteFunc(w.lost, ofLine)
	w.mu.Unlock()
	return w.removeFiles(line)
}

func (w *Writer) lines() ([]entry, error) {
	if w.manifest == nil {
		return nil, errors.New("remove a run from the archive: it is not open")
	}
	lines, _, err := w.manifest.read()
	return lines, err
}

// kindOrAny is what a pattern of names has in the place of the kind.
func (e entry) kindOrAny() string { return cmp.Or(e.Kind, "*") }

// removeFiles removes the folders of what a line deletes, and what was put aside of it.
func (w *Writer) removeFiles(line entry) error {
	run := schemas.FormatID(uint64(line.Run))
	folders, err := fs.Glob(os.DirFS(string(w.folder)), "event="+line.kindOrAny()+"/run="+run)
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
	return w.removeAside("quarantine/event=" + line.kindOrAny() + ".run=" + run + ".*")
}

func (w *Writer) removeAside(pattern string) error {
	aside, err := fs.Glob(os.DirFS(string(w.folder)), pattern)
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
