package parquet

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/apache/arrow-go/v18/arrow"
	pq "github.com/parquet-go/parquet-go"
	"github.com/zeebo/xxh3"

	"github.com/tensortap/tensortap/internal/durable"
	"github.com/tensortap/tensortap/schemas"
)

// batchesKey names the list of batches in a file's own metadata: a file lists its batches even
// without the manifest, with the rows of each message.
const batchesKey = "tensortap.batches"

// batch is one message in a file: the next Rows rows.
type batch struct {
	Rank  uint32 `json:"rank"`
	Epoch id     `json:"epoch"`
	Batch uint64 `json:"batch"`
	Rows  int    `json:"rows"`
}

func (b batch) identity(run uint64) schemas.Identity {
	return schemas.Identity{RunID: run, Rank: b.Rank, Epoch: uint64(b.Epoch), Batch: b.Batch}
}

// draft is a file that is being written and belongs to nothing yet.
type draft struct {
	kind    string
	run     uint64
	path    string
	file    *durable.File
	size    int64
	hash    xxh3.Hasher
	writer  *pq.GenericWriter[any]
	columns *columns
	decoder schemas.Decoder
	cfg     Config

	batches []batch
	seen    map[schemas.Identity]bool
	rows    int64
	closed  int64 // rows and
	flushed int64 // size of the row groups that are closed
}

// newDraft starts a file at path.
func newDraft(cfg Config, path string, form *form, run uint64) (*draft, error) {
	f, err := cfg.Disk.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL)
	if err != nil {
		return nil, fmt.Errorf("create %s: %w", path, err)
	}
	d := &draft{
		kind: form.kind, run: run, path: path, file: f, columns: form.columns, cfg: cfg,
		seen: make(map[schemas.Identity]bool),
	}
	d.writer = pq.NewGenericWriter[any](d, form.options(cfg)...)
	return d, nil
}

// Write implements io.Writer for the Parquet writer.
func (d *draft) Write(b []byte) (int, error) {
	n, err := d.file.Write(b)
	d.size += int64(n)
	_, _ = d.hash.Write(b[:n]) // never fails
	return n, err
}

// add appends the rows of a message. A *schemas.MalformedError means that the
// message cannot be written, and that the draft is spoilt.
func (d *draft) add(m schemas.Message, record arrow.RecordBatch) error {
	if err := d.addColumns(m, record); err != nil {
		return err
	}
	of := m.Header.Identity
	d.seen[of] = true
	d.batches = append(d.batches, batch{Rank: of.Rank, Epoch: id(of.Epoch), Batch: of.Batch, Rows: m.Header.Rows})
	d.rows += record.NumRows()
	if d.rows-d.closed < int64(d.cfg.RowGroupRows) && d.writer.Size()-d.flushed < d.cfg.RowGroupBytes {
		return nil
	}
	if err := d.writer.Flush(); err != nil {
		return fmt.Errorf("write %s: %w", d.path, err)
	}
	d.closed, d.flushed = d.rows, d.writer.Size()
	return nil
}

func (d *draft) addColumns(m schemas.Message, record arrow.RecordBatch) (err error) {
	// a record whose buffers are shorter than its rows shows only when they are read
	defer func() {
		if r := recover(); r != nil {
			err = &schemas.MalformedError{Subject: m.Subject(), Reason: fmt.Sprintf("encode rows: %v", r)}
		}
	}()
	if err := d.columns.write(d.writer.ColumnWriters(), record); err != nil {
		return &schemas.MalformedError{Subject: m.Subject(), Reason: err.Error()}
	}
	return nil
}

// finish makes the file whole and durable, still under its temporary name.
func (d *draft) finish() (entry, error) {
	list, err := json.Marshal(d.batches)
	if err != nil {
		return entry{}, fmt.Errorf("encode batches of %s: %w", d.path, err)
	}
	d.writer.SetKeyValueMetadata(batchesKey, string(list))
	if err := d.writer.Close(); err != nil {
		return entry{}, fmt.Errorf("write %s: %w", d.path, err)
	}
	if err := d.file.Sync(); err != nil {
		return entry{}, fmt.Errorf("sync %s: %w", d.path, err)
	}
	if err := d.file.Close(); err != nil {
		return entry{}, fmt.Errorf("close %s: %w", d.path, err)
	}
	footer, err := footerBytes(d.path, d.size)
	if err != nil {
		return entry{}, err
	}
	return entry{
		Kind: d.kind, Run: id(d.run), Rows: d.rows, Size: d.size, Footer: footer, Hash: id(d.hash.Sum64()),
		Batches: entrySpans(spansOf(d.kind, d.run, d.batches)),
	}, nil
}

// discard removes the file.
func (d *draft) discard() error {
	if err := d.file.Close(); err != nil && !errors.Is(err, os.ErrClosed) {
		return errors.Join(fmt.Errorf("close %s: %w", d.path, err), d.cfg.Disk.Remove(d.path))
	}
	return d.cfg.Disk.Remove(d.path)
}

// footerBytes is the length of the footer, from the last 8 bytes of a whole file.
func footerBytes(path string, size int64) (uint32, error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, fmt.Errorf("read footer: %w", err)
	}
	defer f.Close() //nolint:errcheck // only read
	var tail [8]byte
	if size < int64(len(tail)) {
		return 0, fmt.Errorf("read footer of %s: %d bytes are no Parquet file", path, size)
	}
	if _, err := f.ReadAt(tail[:], size-int64(len(tail))); err != nil {
		return 0, fmt.Errorf("read footer of %s: %w", path, err)
	}
	if string(tail[4:]) != "PAR1" {
		return 0, fmt.Errorf("read footer of %s: ends in %q, want \"PAR1\"", path, tail[4:])
	}
	return binary.LittleEndian.Uint32(tail[:]), nil
}

// spansOf is the batches of one file, in as few ranges as they need.
func spansOf(kind string, run uint64, batches []batch) []schemas.Batches {
	l := schemas.NewLedger()
	for _, b := range batches {
		l.Add(schemas.BatchOf(kind, b.identity(run)))
	}
	return l.All()
}
