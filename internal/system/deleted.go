package system

import (
	"context"
	"maps"
	"strings"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/tensortap/tensortap/internal/retention"
	"github.com/tensortap/tensortap/pipelines"
	"github.com/tensortap/tensortap/schemas"
)

// leaveOut takes deleted runs, and removed parts of runs, out of the account.
func (a *account) leaveOut(deleted retention.DeletedParts) {
	if len(deleted) == 0 {
		return
	}
	goes := func(b schemas.Batches) bool { return deleted.Has(b.RunID, b.Kind) }
	for _, ledger := range []*schemas.Ledger{a.stream, a.tables, a.archive, a.tablesBefore} {
		for _, b := range ledger.All() {
			if goes(b) {
				ledger.Remove(b)
			}
		}
	}
	for b := range a.keys {
		if goes(b) {
			delete(a.keys, b)
		}
	}
	for of := range a.rows {
		if deleted.Has(of.run, of.kind) {
			delete(a.rows, of)
		}
	}
	for id := range deleted {
		if deleted.Whole(id) {
			ofRun := schemas.FormatID(id) + "."
			maps.DeleteFunc(a.finished, func(key string, _ uint32) bool { return strings.HasPrefix(key, ofRun) })
		}
	}
}

// deletedParts are those of all runs.
func (c *Client) deletedParts(ctx context.Context) (retention.DeletedParts, error) {
	fates, err := pipelines.DecidedOf(ctx, c.stream)
	return retention.Of(fates), err
}

// lostMessages counts those of the stream that are gone, and were not removed with their runs.
func (c *Client) lostMessages(ctx context.Context, info *jetstream.StreamInfo) (uint64, error) {
	made := info.Created.UnixNano()
	removed := c.Endpoint.Folder.purged()
	purges, err := pipelines.Purges(ctx, c.stream, made)
	if err != nil || info.State.NumDeleted == 0 || removed.Empty(made) && len(purges) == 0 {
		return uint64(info.State.NumDeleted), err //nolint:gosec // a count
	}
	stream, err := c.stream.Stream(ctx, pipelines.StreamName)
	if err != nil {
		return 0, err
	}
	details, err := stream.Info(ctx, jetstream.WithDeletedDetails(true))
	if err != nil {
		return 0, err
	}
	return pipelines.Unpurged(purges, removed.Others(made, details.State.Deleted)), nil
}
