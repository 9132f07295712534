package parquet

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"

	"github.com/tensortap/tensortap/schemas"
)

// strays looks after the files that no line of the manifest names. A crash came before the line, or
// the line was lost.
func (w *Writer) strays(ctx context.Context, now *listing, r *Recovery) error {
	found, err := w.names()
	if err != nil {
		return err
	}
	r.Anew = r.Anew && len(found) > 0
	for _, name := range found {
		w.next.Store(max(w.next.Load(), number(name)))
	}
	for _, name := range found {
		if _, known := now.files[name]; known {
			continue
		}
		if now.deletes(name) {
			if err := w.cfg.Disk.Remove(w.path(name)); err != nil {
				return fmt.Errorf("remove a file of a deleted run: %w", err)
			}
			continue
		}
		if err := errors.Join(ctx.Err(), w.takeIn(ctx, name, r)); err != nil {
			return err
		}
	}
	return nil
}

// takeIn adopts a file, as long as all of it can be read. Of one that shares batches with other files the rest is written
// anew.
func (w *Writer) takeIn(ctx context.Context, name string, r *Recovery) error {
	kind, run, ok := placeOf(name)
	if !ok || path.Ext(name) != ".parquet" {
		r.Aside++
		return w.moveAway(name)
	}
	e := entry{File: name, Kind: kind, Run: id(run)}
	if reason := w.describe(ctx, &e); reason != nil {
		r.Quarantined++
		return w.quarantine(e, fmt.Errorf("the manifest does not name it, and it is damaged: %w", reason))
	}
	some, all := w.held(e)
	if !some {
		r.Files++
		r.Adopted++
		if err := w.settle(name); err != nil {
			return err
		}
		return w.enter(e)
	}
	r.Aside++
	if !all {
		if err := w.copyRest(ctx, e); err != nil {
			return err
		}
	}
	return w.quarantine(e, errors.New("the manifest does not name it, and other files have its batches"))
}

// settle makes a file durable that a killed process, or somebody else, left at its place.
func (w *Writer) settle(name string) error {
	file, err := w.cfg.Disk.OpenFile(w.path(name), os.O_RDONLY)
	if err != nil {
		return fmt.Errorf("adopt %s: %w", name, err)
	}
	if err := errors.Join(file.Sync(), file.Close()); err != nil {
		return fmt.Errorf("adopt %s: %w", name, err)
	}
	return w.syncNames(filepath.Dir(w.path(name)))
}

// copyRest writes those messages of a file that no other file has.
func (w *Writer) copyRest(ctx context.Context, e entry) error {
	var messages []schemas.Message
	if err := w.readFile(ctx, e, func(m schemas.Message) bool { messages = append(messages, m); return true }); err != nil {
		return err
	}
	return w.Write(ctx, messages)
}

// describe reads all of a file.
func (a folder) describe(ctx context.Context, e *entry) error {
	f, err := os.Open(a.path(e.File))
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // only read
	info, err := f.Stat()
	if err != nil {
		return err
	}
	file, err := openSound(f, info.Size())
	if err != nil {
		return err
	}
	batches, err := readBatches(file)
	if err != nil {
		return err
	}
	e.Size, e.Rows, e.Batches = info.Size(), file.NumRows(), entrySpans(spansOf(e.Kind, uint64(e.Run), batches))
	if e.Footer, err = footerBytes(a.path(e.File), e.Size); err != nil {
		return err
	}
	if e.Hash, err = a.hash(ctx, *e); err != nil {
		return err
	}
	rows := int64(0)
	err = a.readFile(ctx, *e, func(m schemas.Message) bool { rows += int64(m.Header.Rows); return true })
	if err == nil && rows != e.Rows {
		err = fmt.Errorf("it has %d rows, its batches %d", e.Rows, rows)
	}
	return err
}

// held says whether other files have some of a file's batches, or all.
func (w *Writer) held(e entry) (some, all bool) {
	all = true
	for _, span := range e.spans() {
		lacks := w.ledger.Lacks(span)
		some = some || len(lacks) != 1 || lacks[0] != span
		all = all && len(lacks) == 0
	}
	return some, all
}

// enter makes a file part of the archive.
func (w *Writer) enter(e entry) error {
	if err := w.manifest.add(e); err != nil {
		return err
	}
	for _, span := range e.spans() {
		w.ledger.Add(span)
	}
	return nil
}
