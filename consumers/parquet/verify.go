package parquet

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/zeebo/xxh3"

	"github.com/tensortap/tensortap/schemas"
)

// Verify reads every byte of the archive, as it was at the call, and quarantines files with a wrong
// checksum. It names them; their batches are Missing afterwards. Writing may go on meanwhile.
func (w *Writer) Verify(ctx context.Context) (damaged []error, err error) {
	return w.VerifyPart(ctx, 0, 1)
}

// VerifyPart reads every byte of one of that many parts of the files, and looks at the others as Open does.
func (w *Writer) VerifyPart(ctx context.Context, part, parts uint64) (damaged []error, err error) {
	entries, err := w.entries()
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		reason := w.check(e)
		if reason == nil && number(e.File)%parts == part {
			reason = w.checkAll(ctx, e)
		}
		if err := ctx.Err(); err != nil {
			return damaged, fmt.Errorf("verify archive: %w", err)
		}
		if reason == nil {
			continue
		}
		damaged = append(damaged, fmt.Errorf("%s: %w", e.File, reason))
		if err := w.expel(e, reason); err != nil {
			return damaged, fmt.Errorf("verify archive: %w", err)
		}
	}
	return damaged, nil
}

// Listed calls visit with the batches of each file of the archive and how many rows it has, as the manifest lists them now.
func (w *Writer) Listed(visit func(batches []schemas.Batches, rows uint64)) error {
	entries, err := w.entries()
	for _, e := range entries {
		visit(e.spans(), uint64(e.Rows)) //nolint:gosec // a count
	}
	return err
}

// entries is the files of the archive now, oldest first.
func (w *Writer) entries() ([]entry, error) {
	if w.manifest == nil {
		return nil, errors.New("read archive: it is not open")
	}
	lines, _, err := w.manifest.read()
	if err != nil {
		return nil, err
	}
	return oldestFirst(current(lines).files), nil
}

func (w *Writer) expel(e entry, reason error) error {
	s := w.shelves[e.Kind]
	if s != nil { // a kind that this program does not know is not being written
		s.mu.Lock()
		defer s.mu.Unlock()
	}
	if err := w.quarantine(e, reason); err != nil {
		return err
	}
	for _, span := range e.spans() {
		w.ledger.Remove(span)
	}
	return nil
}

func (a folder) checkAll(ctx context.Context, e entry) error {
	hash, err := a.hash(ctx, e)
	if err == nil && hash != e.Hash {
		err = fmt.Errorf("checksum is %016x, want %016x", uint64(hash), uint64(e.Hash))
	}
	return err
}

func (a folder) hash(ctx context.Context, e entry) (id, error) {
	f, err := os.Open(a.path(e.File))
	if err != nil {
		return 0, err
	}
	defer f.Close() //nolint:errcheck // only read
	var hash xxh3.Hasher
	_, err = io.Copy(&hash, untilDone{ctx, f})
	return id(hash.Sum64()), err
}
