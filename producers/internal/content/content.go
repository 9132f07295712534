// Package content is what readers of files have in common, whatever is in the files: the rows of one rank, under an
// identity that the stream may change, as messages or handed over as they are.
package content

import (
	"context"
	"errors"
	"io"
	"iter"
	"os"

	"github.com/zeebo/xxh3"

	"github.com/tensortap/tensortap/producers"
	"github.com/tensortap/tensortap/producers/internal/batch"
	"github.com/tensortap/tensortap/schemas"
)

// rowsPerBatch cuts batches by rows, so that they depend on the content alone.
const rowsPerBatch = 8192

// Content is the rows of one rank in a file, or in a part of one. It is not safe for use by several goroutines.
type Content struct {
	Run         string
	Rank        uint32
	Generation  uint32
	EventTimeNs int64                 // of the file, in UTC nanoseconds
	Bytes       int64                 // that are read
	Progress    func(bytesRead int64) // may be nil
	Problems    producers.Problems    // of the last reading
	// Read puts the rows into the set.
	Read func(ctx context.Context, out *batch.Set) error

	epoch uint64
}

// Opened is the content under the hash of its bytes, as the given step of its rank.
func (c *Content) Opened(digest uint64, step uint32) producers.Source {
	c.epoch = schemas.FileEpoch(digest, step, 0)
	return producers.Source{Digest: digest, Bytes: c.Bytes, Content: c, Problems: func() producers.Problems { return c.Problems }}
}

// Reissue makes the next Batches carry another epoch, generation and time than Opened gave them. What stands beside a run
// takes nobody's place, and has no use for a generation.
func (c *Content) Reissue(epoch uint64, generation uint32, eventTimeNs int64) {
	c.epoch, c.Generation, c.EventTimeNs = epoch, generation, eventTimeNs
}

// Batches returns the rows as messages. A second call begins anew, with the same messages.
func (c *Content) Batches(ctx context.Context) iter.Seq2[schemas.Message, error] {
	return batch.Messages(ctx, c.Identity, rowsPerBatch, c.anew)
}

// Identity is that of the next rows.
func (c *Content) Identity() schemas.Identity {
	return schemas.Identity{RunID: schemas.RunID(c.Run), Rank: c.Rank, Epoch: c.epoch}
}

// Direct hands the rows over as they are.
func (c *Content) Direct(ctx context.Context, to *producers.Rows) (producers.Problems, error) {
	err := c.anew(ctx, batch.NewDirect(c.Identity(), to))
	return c.Problems, err
}

// Reader hands over the rows of several contents as they are.
func Reader(to producers.Rows, source func(dump int, progress func(bytesRead int64)) *Content) producers.Reader {
	return func(ctx context.Context, dump int, progress func(int64)) (producers.Problems, error) {
		return source(dump, progress).Direct(ctx, &to)
	}
}

func (c *Content) anew(ctx context.Context, out *batch.Set) error {
	c.Problems = producers.Problems{}
	return c.Read(ctx, out)
}

// Tell says how much has been read.
func (c *Content) Tell(bytesRead int64) {
	if c.Progress != nil {
		c.Progress(min(bytesRead, c.Bytes))
	}
}

// Hash adds the first bytes of a file to a hash.
func Hash(hasher *xxh3.Hasher, path string, bytes int64) error {
	return First(path, bytes, func(input io.Reader) error {
		_, err := io.Copy(hasher, input)
		return err
	})
}

// First gives the first bytes of a file, which is what it was when it was found.
func First(path string, bytes int64, use func(io.Reader) error) error {
	input, err := os.Open(path) //nolint:gosec // named by the user
	if err != nil {
		return err
	}
	defer input.Close() //nolint:errcheck // only read
	if err := use(io.LimitReader(input, bytes)); err != nil {
		return err
	}
	if info, err := input.Stat(); err != nil || info.Size() < bytes {
		return errors.Join(err, errors.New("it is shorter than before: it is being written, or was truncated meanwhile"))
	}
	return nil
}
