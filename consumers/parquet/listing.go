package parquet

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/tensortap/tensortap/schemas"
)

// File is a file of an archive, as a manifest lists it.
type File struct {
	Name  string // relative to the folder of the archive, with slashes
	Kind  string
	RunID uint64
	Rows  uint64
	Bytes int64
	Hash  uint64 // xxh3 of all of it
}

// Listing is what lines of a manifest come to.
type Listing struct {
	Files   []File // oldest first
	Deleted map[Deletion]bool
	Damaged int // lines
}

// Deletion is of a run, or of one kind of its events.
type Deletion struct {
	RunID uint64
	Kind  string // empty for all
}

// OfDeleted says whether a file is of a run that was deleted, or of a kind of its events that was.
func (l *Listing) OfDeleted(f File) bool {
	return schemas.OfRun(f.Kind) && (l.Deleted[Deletion{RunID: f.RunID}] || l.Deleted[Deletion{f.RunID, f.Kind}])
}

// ReadListing reads lines of one manifest, or of several after each other.
func ReadListing(lines []byte) Listing {
	entries, damaged := parseLines(lines)
	now := current(entries)
	listing := Listing{Deleted: map[Deletion]bool{}, Damaged: damaged}
	for of := range now.deleted {
		listing.Deleted[Deletion{uint64(of.run), of.kind}] = true
	}
	for _, e := range oldestFirst(now.files) {
		listing.Files = append(listing.Files, File{
			Name: e.File, Kind: e.Kind, RunID: uint64(e.Run), Rows: uint64(e.Rows), Bytes: e.Size, Hash: uint64(e.Hash), //nolint:gosec // a count
		})
	}
	return listing
}

// ManifestFrom is the manifest from a place in it on: whole lines, each of a file that is at its place and durable. It is empty
// where the manifest ends there or before. The archive must be open.
func (w *Writer) ManifestFrom(offset int64) ([]byte, error) {
	if w.manifest == nil {
		return nil, errors.New("read manifest: the archive is not open")
	}
	return w.manifest.from(offset)
}

func (m *manifest) from(offset int64) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if offset >= m.size {
		return nil, nil
	}
	text := make([]byte, m.size-offset)
	if _, err := io.ReadFull(io.NewSectionReader(m.file, offset, m.size-offset), text); err != nil {
		return nil, fmt.Errorf("read manifest: %w", err)
	}
	return text, nil
}

// Path is where a file of the archive lies.
func (w *Writer) Path(f File) string { return w.path(f.Name) }

// Check reads the file at a path, and says in what it is another.
func (f File) Check(ctx context.Context, path string) error {
	return folder(filepath.Dir(path)).checkAll(ctx, f.at(path))
}

// Messages reads the file at a path back as its messages, until yield says no.
func (f File) Messages(ctx context.Context, path string, yield func(schemas.Message) bool) error {
	err := folder(filepath.Dir(path)).readFile(ctx, f.at(path), yield)
	if errors.Is(err, errStop) {
		return nil
	}
	return err
}

// at is the file's line, as if it lay at a path.
func (f File) at(path string) entry {
	return entry{File: filepath.Base(path), Kind: f.Kind, Run: id(f.RunID), Size: f.Bytes, Hash: id(f.Hash)}
}
