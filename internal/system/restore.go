package system

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"

	"github.com/tensortap/tensortap/internal/audit"
	"github.com/tensortap/tensortap/internal/plural"
	"github.com/tensortap/tensortap/internal/retention"
	"github.com/tensortap/tensortap/pipelines"
	"github.com/tensortap/tensortap/schemas"
)

// Restored is what came of restoring an archive.
type Restored struct {
	Messages, Rows uint64 // that stream and tables lacked
	Held           uint64 // messages that one of them had
	Damaged        uint64 // files that could not be read
	First          []error

	Deleted uint64 // messages of runs that were deleted, or of parts that were removed

	stored  []*schemas.Ledger // what the stream has, and the tables
	sent    *schemas.Ledger
	deleted retention.DeletedParts
}

// mostDamaged is how many of the damaged files are named.
const mostDamaged = 5

// Restore publishes what an archive has and neither the stream nor the tables have. From is the archive's folder; empty for
// the system's own. It changes nothing there. Stores that have the events leave them as they are.
func (c *Client) Restore(ctx context.Context, from string, progress func(done, all int64), waiting func(error)) (Restored, error) {
	from = cmp.Or(from, c.Endpoint.Archive)
	return c.restoring(ctx, from, func() (Restored, error) {
		if _, err := os.Stat(from); err != nil {
			return Restored{}, fmt.Errorf("restore archive: %w", err)
		}
		return c.restore(ctx, from, archived(ctx, from), progress, waiting)
	})
}

// restoring writes down that an archive is restored, and what came of it.
func (c *Client) restoring(ctx context.Context, from string, restore func() (Restored, error)) (r Restored, err error) {
	err = c.audited(ctx, audit.Deed{Name: "restore", Target: from}, func() (audit.Outcome, error) {
		r, err = restore()
		return r.outcome(err), err
	})
	return r, err
}

// outcome is what came of it, with the error that ended it.
func (r *Restored) outcome(err error) audit.Outcome {
	if err == nil && r.Damaged > 0 {
		return audit.Outcome{Result: audit.Partly, Reason: fmt.Sprintf("%s of the archive %s damaged and left out", plural.Of(r.Damaged, "file"), plural.Verb(r.Damaged, "is", "are"))}
	}
	return audit.Of(err)
}

// restore publishes those messages of an archive, named so for people, that are nowhere else.
func (c *Client) restore(ctx context.Context, from string, messages iter.Seq2[schemas.Message, error], progress func(done, all int64), waiting func(error)) (Restored, error) {
	r := Restored{stored: []*schemas.Ledger{nil, nil}, sent: schemas.NewLedger()}
	err := patiently(ctx, waiting, func() (err error) {
		r.stored[0], err = c.heldStream(ctx)
		return err
	})
	if errors.Is(err, pipelines.ErrUnreadable) {
		err = fmt.Errorf("%w; move %s away, but keep it, and restore again: the archive makes a new stream", err, filepath.Join(string(c.Endpoint.Folder), "nats"))
	}
	if err != nil {
		return Restored{}, err
	}
	err = patiently(ctx, waiting, func() (err error) {
		if r.stored[1], err = c.heldTables(ctx, 10*waitEvery); err != nil {
			return err
		}
		r.deleted, err = c.deletedParts(ctx)
		return err
	})
	if err != nil {
		return Restored{}, err
	}
	publisher, err := (&publishing{client: c, request: PublishRequest{Waiting: waiting}}).newPublisher()
	if err != nil {
		return Restored{}, err
	}
	defer publisher.Close()
	for message, err := range messages {
		if err == nil {
			err = r.publish(ctx, publisher, message)
		} else if ctx.Err() == nil && !isUnread(err) {
			r.note(err)
			continue
		}
		if err != nil {
			return r, errors.Join(fmt.Errorf("restore archive %s: %w", from, err), publisher.Flush(ctx))
		}
		progress(int64(r.Messages+r.Held), -1) //nolint:gosec // a count of messages
	}
	err = publisher.Flush(ctx)
	if err == nil && publisher.Metrics().Snapshot().Duplicates > 0 {
		err = patiently(ctx, waiting, func() error { return c.requireTaken(ctx, &r) })
	}
	return r, err
}

// heldStream is what the stream has. It fails where that is damaged.
func (c *Client) heldStream(ctx context.Context) (*schemas.Ledger, error) {
	a := newAccount()
	err := c.readWhole(ctx, a)
	return a.stream, err
}

// requireTaken fails unless the stream has what was sent. It answers a message whose id it had within its window as if it kept it; where it
// had it and lost it, as when it was emptied, it keeps neither.
func (c *Client) requireTaken(ctx context.Context, r *Restored) error {
	held, err := c.heldStream(ctx)
	if err != nil {
		return err
	}
	dropped := r.sent.Without(held).Count()
	if dropped == 0 {
		return nil
	}
	r.Messages -= min(dropped, r.Messages)
	window := pipelines.DefaultConfig().Stream.DuplicateWindow
	return fmt.Errorf("the stream dropped %s: it had the same within %v and has them no more: restore again after that time", plural.Of(dropped, "message"), window)
}

// FinishRestore waits until the stores have what was restored, and makes again what the stream's server knew beside its messages.
func (c *Client) FinishRestore(ctx context.Context, waiting func(error)) error {
	if _, err := c.WaitReplayed(ctx, func(_, _ int64) {}, waiting); err != nil {
		return err
	}
	return patiently(ctx, waiting, func() error {
		_, err := c.Reclaim(ctx)
		return err
	})
}

func (r *Restored) note(err error) {
	r.Damaged++
	if len(r.First) < mostDamaged {
		r.First = append(r.First, err)
	}
}

func (r *Restored) publish(ctx context.Context, to *pipelines.Publisher, message schemas.Message) error {
	if r.deleted.Has(message.Header.Identity.RunID, message.Header.Kind) {
		r.Deleted++
		return nil
	}
	batch := schemas.BatchOf(message.Header.Kind, message.Header.Identity)
	if slices.ContainsFunc(r.stored, func(l *schemas.Ledger) bool { return l.Has(batch) }) {
		r.Held++
		return nil
	}
	r.stored[0].Add(batch)
	r.sent.Add(batch)
	r.Messages++
	r.Rows += uint64(message.Header.Rows) //nolint:gosec // at least 1
	return to.Publish(ctx, message)
}
