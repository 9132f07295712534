package mirror

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/zeebo/xxh3"

	"github.com/tensortap/tensortap/consumers/parquet"
	"github.com/tensortap/tensortap/internal/bucket"
	"github.com/tensortap/tensortap/schemas"
)

// ErrUnread says that a bucket could not be read on. Its caller stops, and says that the same may be begun again.
var ErrUnread = errors.New("reading the bucket ended before its end")

// Copied is what a bucket holds of archives, as it was when it was opened.
type Copied struct {
	bucket *bucket.Bucket
	files  []parquet.File // that are there, oldest first
	faults []error        // what is not as it was written
}

// OpenCopied lists what a bucket holds.
func OpenCopied(ctx context.Context, b *bucket.Bucket) (*Copied, error) {
	c := &Copied{bucket: b}
	listing, err := c.readLines(ctx)
	if err != nil {
		return nil, err
	}
	there := map[string]bool{}
	for o, err := range b.List(ctx, filesBegin) {
		if err != nil {
			return nil, err
		}
		f, ok := fileOf(o)
		if !ok {
			c.faults = append(c.faults, fmt.Errorf("%s is no object of an archive", o.Name))
			continue
		}
		there[o.Name] = true
		if !listing.OfDeleted(f) {
			c.files = append(c.files, f)
		}
	}
	for _, f := range listing.Files {
		if name := objectName(f); !there[name] && !listing.OfDeleted(f) {
			c.faults = append(c.faults, fmt.Errorf("%s: %w", name, bucket.ErrMissing))
		}
	}
	if len(c.files)+len(c.faults) == 0 && len(listing.Deleted) == 0 {
		return nil, fmt.Errorf("%s holds no archive: neither objects event=…/run=…/….parquet nor a manifest", b.Place())
	}
	slices.SortFunc(c.files, func(a, b parquet.File) int {
		return cmp.Or(strings.Compare(path.Base(a.Name), path.Base(b.Name)), strings.Compare(objectName(a), objectName(b)))
	})
	return c, nil
}

// readLines is what the manifests of all archives in the bucket come to.
func (c *Copied) readLines(ctx context.Context) (parquet.Listing, error) {
	all := parquet.Listing{Deleted: map[parquet.Deletion]bool{}}
	pieces, err := c.manifestPieces(ctx)
	if err != nil {
		return all, err
	}
	manifests := map[string]*bytes.Buffer{}
	for _, l := range pieces {
		if manifests[l.archive] == nil {
			manifests[l.archive] = &bytes.Buffer{}
		}
		if err := c.readPiece(ctx, l, manifests[l.archive]); err != nil {
			return all, err
		}
	}
	for _, archive := range slices.Sorted(maps.Keys(manifests)) {
		listing := parquet.ReadListing(manifests[archive].Bytes())
		all.Files = append(all.Files, listing.Files...)
		maps.Copy(all.Deleted, listing.Deleted)
	}
	return all, nil
}

// manifestPieces are the objects of all manifests, each manifest's in the order of its lines.
func (c *Copied) manifestPieces(ctx context.Context) ([]lines, error) {
	var pieces []lines
	for o, err := range c.bucket.List(ctx, linesBegin) {
		if err != nil {
			return nil, err
		}
		l, ok := parseLines(o.Name)
		if !ok {
			c.faults = append(c.faults, fmt.Errorf("%s is no object of an archive", o.Name))
			continue
		}
		pieces = append(pieces, l)
	}
	slices.SortFunc(pieces, func(a, b lines) int {
		return cmp.Or(strings.Compare(a.archive, b.archive), cmp.Compare(a.number, b.number))
	})
	return pieces, nil
}

// readPiece adds a piece, or notes that it is damaged: then files that are missing may go unnoticed.
func (c *Copied) readPiece(ctx context.Context, l lines, to *bytes.Buffer) error {
	var piece bytes.Buffer
	err := c.bucket.Get(ctx, l.name(), &piece)
	switch {
	case errors.Is(err, bucket.ErrMissing):
		c.faults = append(c.faults, fmt.Errorf("%s: %w", l.name(), bucket.ErrMissing))
	case err != nil:
		return err
	case xxh3.Hash(piece.Bytes()) != l.hash:
		c.faults = append(c.faults, fmt.Errorf("%s is damaged: its checksum does not fit its name", l.name()))
	default:
		_, _ = piece.WriteTo(to) // memory takes all
	}
	return nil
}

// Messages reads everything back. An error names an object that is missing or damaged, which is left out; one that is ErrUnread
// ends it.
func (c *Copied) Messages(ctx context.Context) iter.Seq2[schemas.Message, error] {
	return func(yield func(schemas.Message, error) bool) {
		for _, fault := range c.faults {
			if !yield(schemas.Message{}, fault) {
				return
			}
		}
		for _, f := range c.files {
			more := true
			err := c.read(ctx, f, func(m schemas.Message) bool {
				more = yield(m, nil)
				return more
			})
			if err != nil {
				more = yield(schemas.Message{}, fmt.Errorf("read %s: %w", objectName(f), err))
			}
			if !more || errors.Is(err, ErrUnread) {
				return
			}
		}
	}
}

// read brings an object to this host for as long as it is read.
func (c *Copied) read(ctx context.Context, f parquet.File, yield func(schemas.Message) bool) error {
	file, err := os.CreateTemp("", "tensortap-restore-*"+extension)
	if err != nil {
		return errors.Join(ErrUnread, err)
	}
	defer os.Remove(file.Name()) //nolint:errcheck // temporary
	err = errors.Join(c.bucket.Get(ctx, objectName(f), file), file.Close())
	if err != nil && !errors.Is(err, bucket.ErrMissing) {
		return errors.Join(ErrUnread, err)
	}
	if err == nil {
		err = f.Check(ctx, file.Name())
	}
	if err == nil {
		err = f.Messages(ctx, file.Name(), yield)
	}
	return err
}
