// Package parquet keeps every event in Parquet files that other tools read as
// they are: one folder per kind and run, in the form of Hive.
//
//	manifest                                      what belongs to the archive
//	event=tensor/run=00f0…/000000000001.parquet   rows
//	tmp/                                          files under way
//	quarantine/                                   files that were damaged
//	lock                                          held by the one process that writes
//
// The keys of the folders, event and run, are the names of no column: readers
// take them for columns of their own.
//
// A file is written under tmp, made durable, renamed to its place, and then named in the manifest
// together with its batches. Only then is the write acknowledged. A file without a line may have been
// acknowledged by a line that was lost: the next start reads it and adopts it, or keeps it aside. A
// batch in the manifest is not stored again, whoever sends it and however late.
package parquet

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/parquet-go/parquet-go/compress/zstd"

	"github.com/tensortap/tensortap/internal/durable"
	"github.com/tensortap/tensortap/schemas"
)

// Writer stores messages in the archive. Write may be called by several
// goroutines at once; calls for one kind wait for each other.
type Writer struct {
	folder
	cfg      Config
	lock     *durable.File
	manifest *manifest
	ledger   *schemas.Ledger
	shelves  map[string]*shelf
	next     atomic.Uint64 // number of the next file
	counters counters

	mu     sync.Mutex
	synced map[string]bool   // folders whose entry in their parent is durable
	stray  []string          // files that could not be removed, but do not count
	lost   []schemas.Batches // batches of damaged files
}

// shelf is the place of one kind.
type shelf struct {
	mu    sync.Mutex
	table schemas.Table
	form  func() *form // made when it is needed first
}

// New returns a writer for the archive that cfg names. It touches nothing until Open.
func New(cfg Config) (*Writer, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("configure archive: %w", err)
	}
	w := &Writer{folder: folder(cfg.Dir), cfg: cfg, ledger: schemas.NewLedger(), shelves: make(map[string]*shelf), synced: make(map[string]bool)}
	codec := &zstd.Codec{Level: zstd.SpeedFastest} // one for all, since each of its encoders has much memory
	for _, t := range schemas.Tables() {
		w.shelves[t.Kind()] = &shelf{table: t, form: sync.OnceValue(func() *form { return newForm(t, codec) })}
	}
	return w, nil
}

// Write stores the messages, all of one kind, in one new file per run. Nil means that every row is
// durable; batches that the archive has already are counted and left out. A *schemas.RejectedError
// names messages that can never be stored; the others are durable. After any other error some
// messages may be stored, and the call may be repeated unchanged.
func (w *Writer) Write(ctx context.Context, messages []schemas.Message) error {
	if len(messages) == 0 {
		return nil
	}
	if w.manifest == nil {
		return errors.New("write to archive: it is not open")
	}
	kind := messages[0].Header.Kind
	s, known := w.shelves[kind]
	if !known {
		return rejectAll(messages, "unknown kind "+kind)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := w.sweep(); err != nil {
		return fmt.Errorf("store %d messages of %s: %w", len(messages), kind, err)
	}
	rejected := make(map[int]string)
	for _, run := range runs(messages) {
		if err := w.writeRun(ctx, s, run, messages, rejected); err != nil {
			return fmt.Errorf("store %d messages of %s: %w", len(messages), kind, err)
		}
	}
	if len(rejected) > 0 {
		w.counters.rejected.Add(uint64(len(rejected)))
		return &schemas.RejectedError{Reasons: rejected}
	}
	return nil
}

func rejectAll(messages []schemas.Message, reason string) error {
	reasons := make(map[int]string, len(messages))
	for i := range messages {
		reasons[i] = reason
	}
	return &schemas.RejectedError{Reasons: reasons}
}

// runs lists the runs of messages in the order in which they first appear.
func runs(messages []schemas.Message) []uint64 {
	var list []uint64
	seen := make(map[uint64]bool)
	for _, m := range messages {
		if run := m.Header.Identity.RunID; !seen[run] {
			seen[run] = true
			list = append(list, run)
		}
	}
	return list
}

// writeRun stores the messages of one run. A message that spoils the file is
// rejected, and the file written again without it.
func (w *Writer) writeRun(ctx context.Context, s *shelf, run uint64, messages []schemas.Message, rejected map[int]string) error {
	for {
		number := w.next.Add(1)
		d, err := newDraft(w.cfg, w.tmp(fmt.Sprintf("%012d.parquet", number)), s.form(), run)
		if err != nil {
			return err
		}
		duplicates, spoilt, err := w.fill(ctx, d, messages, rejected)
		if err == nil && !spoilt && d.rows > 0 {
			w.counters.duplicates.Add(duplicates)
			return w.commit(d, number)
		}
		if err := errors.Join(err, d.discard()); err != nil || !spoilt {
			w.counters.duplicates.Add(duplicates)
			return err
		}
	}
}

// fill adds to the draft those messages of its run that are not in the archive yet.
func (w *Writer) fill(ctx context.Context, d *draft, messages []schemas.Message, rejected map[int]string) (duplicates uint64, spoilt bool, err error) {
	for i, m := range messages {
		if m.Header.Identity.RunID != d.run || rejected[i] != "" {
			continue
		}
		if err := ctx.Err(); err != nil {
			return 0, false, err
		}
		if d.seen[m.Header.Identity] || w.ledger.Has(schemas.BatchOf(d.kind, m.Header.Identity)) {
			duplicates++
			continue
		}
		spoilt, err = w.fillOne(d, m)
		if bad := (*schemas.MalformedError)(nil); errors.As(err, &bad) {
			rejected[i] = bad.Reason
			err = nil
		}
		if err != nil || spoilt {
			return 0, spoilt, err
		}
	}
	return duplicates, false, nil
}

// fillOne says whether the draft is spoilt by the error that it returns.
func (w *Writer) fillOne(d *draft, m schemas.Message) (spoilt bool, err error) {
	if m.Header.Kind != d.kind {
		return false, &schemas.MalformedError{Subject: m.Subject(), Reason: fmt.Sprintf("kind is %s among messages of %s", m.Header.Kind, d.kind)}
	}
	record, err := d.decoder.Record(m)
	if err != nil {
		return false, err
	}
	err = d.add(m, record)
	return err != nil, err
}

// commit makes the draft part of the archive.
func (w *Writer) commit(d *draft, number uint64) error {
	e, err := d.finish()
	if err != nil {
		return errors.Join(err, d.discard())
	}
	e.File = fmt.Sprintf("event=%s/run=%s/%012d.parquet", e.Kind, schemas.FormatID(d.run), number)
	if err := w.place(d.path, e.File); err != nil {
		return errors.Join(err, w.remove(d.path), w.remove(w.path(e.File)))
	}
	if err := w.enter(e); err != nil {
		return errors.Join(err, w.remove(w.path(e.File)))
	}
	w.counters.files.Add(1)
	w.counters.rows.Add(uint64(e.Rows))
	w.counters.bytes.Add(uint64(e.Size))
	return nil
}

// Close ends the use of the archive. Writes must have returned.
func (w *Writer) Close() error {
	if w.manifest == nil {
		return nil
	}
	err := errors.Join(w.manifest.close(), durable.Unlock(w.lock.File))
	w.manifest = nil
	return err
}

func (w *Writer) tmp(name string) string { return w.path("tmp/" + name) }
