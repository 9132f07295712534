package system

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/tensortap/tensortap/consumers/parquet"
	"github.com/tensortap/tensortap/pipelines"
	"github.com/tensortap/tensortap/schemas"
)

// Restored is what came of restoring an archive.
type Restored struct {
	Messages, Rows uint64 // that the stream lacked
	Held           uint64 // messages that it had
	Damaged        uint64 // files that could not be read
	First          []error
}

// mostDamaged is how many of the damaged files are named.
const mostDamaged = 5

// Restore publishes what an archive has and the stream lacks. From is the archive's folder; empty for the system's own. It
// changes nothing there. Stores that have the events leave them as they are.
func (c *Client) Restore(ctx context.Context, from string, progress func(done, all int64)) (Restored, error) {
	if from == "" {
		from = c.Endpoint.Archive
	}
	if _, err := os.Stat(from); err != nil {
		return Restored{}, fmt.Errorf("restore archive: %w", err)
	}
	held, err := pipelines.Held(ctx, c.stream)
	if err != nil {
		return Restored{}, fmt.Errorf("%w; move %s away and restore again: the archive makes a new stream", err, filepath.Join(string(c.Endpoint.Folder), "nats"))
	}
	publisher, err := (&publishing{client: c}).newPublisher()
	if err != nil {
		return Restored{}, err
	}
	var r Restored
	for message, err := range parquet.Saved(ctx, from) {
		if err == nil {
			err = r.publish(ctx, publisher, held, message)
		} else if ctx.Err() == nil {
			r.note(err)
			continue
		}
		if err != nil {
			return r, errors.Join(fmt.Errorf("restore archive %s: %w", from, err), publisher.Flush(ctx))
		}
		progress(int64(r.Messages+r.Held), -1) //nolint:gosec // a count of messages
	}
	return r, publisher.Flush(ctx)
}

func (r *Restored) note(err error) {
	r.Damaged++
	if len(r.First) < mostDamaged {
		r.First = append(r.First, err)
	}
}

func (r *Restored) publish(ctx context.Context, to *pipelines.Publisher, held *schemas.Ledger, message schemas.Message) error {
	batch := schemas.BatchOf(message.Header.Kind, message.Header.Identity)
	if held.Has(batch) {
		r.Held++
		return nil
	}
	held.Add(batch)
	r.Messages++
	r.Rows += uint64(message.Header.Rows) //nolint:gosec // at least 1
	return to.Publish(ctx, message)
}
