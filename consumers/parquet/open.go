package parquet

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/tensortap/tensortap/internal/durable"
	"github.com/tensortap/tensortap/schemas"
)

// Recovery lists the findings and actions of Open.
type Recovery struct {
	Files        int  // that belong to the archive, adopted ones among them
	Adopted      int  // files that no line of the manifest named
	Aside        int  // files moved to quarantine that the archive does not need: copies, and files of others
	Quarantined  int  // damaged files moved to quarantine
	Lost         int  // files that the manifest names and that are not there
	DamagedLines int  // of the manifest
	Anew         bool // there was no manifest, but files
}

// Damaged says whether batches may be gone that were acknowledged.
func (r Recovery) Damaged() bool { return r.Quarantined+r.Lost+r.DamagedLines > 0 || r.Anew }

// Open makes the archive ready for writing: it takes the lock, and compares every file's size and
// end with the manifest (Verify reads all of them). A file that does not match is quarantined, and
// its batches are Missing until they are written again. A file that the manifest does not name is
// read and adopted. No file of the archive is ever removed. The manifest is written anew where most of it is about files that are
// gone.
func (w *Writer) Open(ctx context.Context) (r Recovery, err error) {
	if err := w.cfg.Disk.MakeFolder(w.cfg.Dir); err != nil {
		return r, fmt.Errorf("open archive: %w", err)
	}
	if w.lock, err = lockFolder(w.cfg.Disk, w.cfg.Dir); err != nil {
		return r, fmt.Errorf("open archive: %w", err)
	}
	if r, err = w.recover(ctx); err != nil {
		return r, errors.Join(fmt.Errorf("open archive %s: %w", w.cfg.Dir, err), durable.Unlock(w.lock.File))
	}
	return r, nil
}

func (w *Writer) recover(ctx context.Context) (Recovery, error) {
	if err := errors.Join(w.cfg.Disk.RemoveAll(w.tmp("")), w.cfg.Disk.Mkdir(w.tmp(""))); err != nil {
		return Recovery{}, err
	}
	m, err := openManifest(w.cfg.Disk, w.path("manifest"))
	if err != nil {
		return Recovery{}, err
	}
	if err := w.cfg.Disk.SyncFolder(w.cfg.Dir); err != nil {
		return Recovery{}, errors.Join(err, m.close())
	}
	w.manifest = m
	r, err := w.reconcile(ctx)
	if err != nil {
		err = errors.Join(err, w.manifest.close())
		w.manifest = nil
	}
	return r, err
}

// reconcile compares the manifest with the files.
func (w *Writer) reconcile(ctx context.Context) (r Recovery, err error) {
	entries, damaged, err := w.manifest.read()
	if err != nil {
		return r, err
	}
	r.DamagedLines = damaged
	w.ledger = schemas.NewLedger() // an earlier Open may have ended half-way
	now := current(entries)
	if err := w.compact(now); err != nil {
		return r, err
	}
	w.lost = now.lost
	for _, e := range entries {
		w.next.Store(max(w.next.Load(), number(e.File), e.Deleted))
	}
	for _, e := range now.files {
		if err := ctx.Err(); err != nil {
			return r, err
		}
		if err := w.admit(e, &r); err != nil {
			return r, err
		}
	}
	r.Anew = len(entries) == 0
	return r, w.strays(ctx, now, &r)
}

// listing is what the lines of a manifest come to.
type listing struct {
	files   map[string]entry   // of the archive, by name
	lost    []schemas.Batches  // of files that were damaged or gone
	deleted map[deleted]uint64 // up to which number files were deleted
}

// deleted is a run, or a kind of its events.
type deleted struct {
	run  id
	kind string // empty for all that go with the run
}

// deletes says whether a file that no line names is one of a deleted run.
func (l *listing) deletes(name string) bool {
	kind, run, ok := placeOf(name)
	last := max(l.deleted[deleted{id(run), ""}], l.deleted[deleted{id(run), kind}])
	return ok && schemas.OfRun(kind) && last > 0 && number(name) <= last
}

// current is what holds after all lines.
func current(entries []entry) *listing {
	now := &listing{files: make(map[string]entry, len(entries)), deleted: map[deleted]uint64{}}
	for _, e := range entries {
		switch {
		case e.Deleted != 0:
			now.delete(e)
		case e.Lost == "":
			now.files[e.File] = e
		default:
			delete(now.files, e.File)
			now.lost = append(now.lost, e.spans()...)
		}
	}
	return now
}

func (l *listing) delete(line entry) {
	l.deleted[deleted{line.Run, line.Kind}] = line.Deleted
	maps.DeleteFunc(l.files, func(_ string, e entry) bool { return line.deletes(e.Kind, uint64(e.Run)) })
	l.lost = slices.DeleteFunc(l.lost, func(b schemas.Batches) bool { return line.deletes(b.Kind, b.RunID) })
}

// admit takes the batches of a file into the ledger, or the file out of the archive.
func (w *Writer) admit(e entry, r *Recovery) error {
	reason := w.check(e)
	if reason == nil {
		r.Files++
		for _, s := range e.spans() {
			w.ledger.Add(s)
		}
		return nil
	}
	if errors.Is(reason, fs.ErrNotExist) {
		r.Lost++
	} else {
		r.Quarantined++
	}
	return w.quarantine(e, reason)
}

// check looks at a file as closely as every start can afford.
func (w *Writer) check(e entry) error {
	info, err := os.Stat(w.path(e.File))
	if err != nil {
		return err
	}
	if info.Size() != e.Size {
		return fmt.Errorf("%d bytes, want %d", info.Size(), e.Size)
	}
	footer, err := footerBytes(w.path(e.File), e.Size)
	if err != nil {
		return err
	}
	if footer != e.Footer {
		return fmt.Errorf("footer of %d bytes, want %d", footer, e.Footer)
	}
	return nil
}

// quarantine takes a file out of the archive and writes so into the manifest.
func (w *Writer) quarantine(e entry, reason error) error {
	if err := w.moveAway(e.File); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	e.Lost = reason.Error()
	if err := w.manifest.add(e); err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lost = append(w.lost, e.spans()...)
	return nil
}

func (w *Writer) moveAway(name string) error {
	if err := w.cfg.Disk.MakeFolder(w.path("quarantine")); err != nil {
		return fmt.Errorf("quarantine %s: %w", name, err)
	}
	to := w.path("quarantine/" + strings.ReplaceAll(name, "/", "."))
	for n := 1; exists(to); n++ {
		to = w.path(fmt.Sprintf("quarantine/%s.%d", strings.ReplaceAll(name, "/", "."), n))
	}
	if err := w.cfg.Disk.Rename(w.path(name), to); err != nil {
		return fmt.Errorf("quarantine %s: %w", name, err)
	}
	return errors.Join(w.cfg.Disk.SyncFolder(w.path("quarantine")), w.cfg.Disk.SyncFolder(filepath.Dir(w.path(name))))
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// number is the number in a file's name, 0 if it has none.
func number(name string) uint64 {
	n, err := strconv.ParseUint(strings.TrimSuffix(path.Base(name), ".parquet"), 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// Held is the set of batches in the archive, which goes on growing.
func (w *Writer) Held() *schemas.Ledger { return w.ledger }

// Missing is the batches that were acknowledged and that damage took away
// since, less those that were written again. They can be fetched from the
// stream as long as it keeps them.
func (w *Writer) Missing() []schemas.Batches {
	w.mu.Lock()
	lost := w.lost
	w.mu.Unlock()
	var missing []schemas.Batches
	for _, s := range lost {
		missing = append(missing, w.ledger.Lacks(s)...)
	}
	return missing
}
