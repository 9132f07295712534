package system

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"

	"github.com/tensortap/tensortap/pipelines"
)

// A database that `tensortap consume` fills has a consumer for each shard of the stream. Their names carry the id of its
// tables, so that several databases may each be filled from one stream, whole.

// tablesPrefix begins the names of these consumers.
const tablesPrefix = "tables-"

// shardConsumers are the consumers of a database, by shard.
func (c *Client) shardConsumers(ctx context.Context) ([]string, error) {
	var id string
	if err := c.database.QueryRow(ctx, "SELECT toString(uuid) FROM system.databases WHERE name = 'tap_store'").Scan(&id); err != nil {
		return nil, fmt.Errorf("look which database it is: %w", err)
	}
	const distinct = 8
	names := make([]string, pipelines.Shards)
	for shard := range names {
		names[shard] = fmt.Sprintf(tablesPrefix+"%s-%d", id[:min(len(id), distinct)], shard)
	}
	return names, nil
}

// tableConsumers are those by which the database is filled: one where `tensortap up` does so.
func (c *Client) tableConsumers(ctx context.Context) ([]string, error) {
	shared, err := isShared(ctx, c.stream)
	if err != nil || !shared || c.database == nil {
		return []string{databaseConsumer}, err
	}
	return c.shardConsumers(ctx)
}

// isShared says whether the stream is shared out in shards.
func isShared(ctx context.Context, js jetstream.JetStream) (bool, error) {
	stream, err := js.Stream(ctx, pipelines.StreamName)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look at the stream: %w", err)
	}
	return stream.CachedInfo().Config.SubjectTransform != nil, nil
}

// notShared is an error where others store the stream.
func notShared(ctx context.Context, js jetstream.JetStream) error {
	shared, err := isShared(ctx, js)
	if err == nil && shared {
		err = errors.New("the events of this stream are stored by `tensortap consume`: run more of those; " +
			"for `tensortap up` in their place stop them, and take the subject transform from stream " + pipelines.StreamName)
	}
	return err
}

// waitTables returns when the database holds what the stream held at that place, as pipelines.WaitStored has it.
func (c *Client) waitTables(ctx context.Context, sequence uint64, every time.Duration) error {
	consumers, err := c.tableConsumers(ctx)
	if err != nil {
		return err
	}
	if len(consumers) == 1 {
		return pipelines.WaitStored(ctx, c.stream, sequence, every, consumers...)
	}
	const each = 10
	group, waiting := errgroup.WithContext(ctx)
	for _, consumer := range consumers {
		group.Go(func() error { return pipelines.WaitStored(waiting, c.stream, sequence, each*every, consumer) })
	}
	return group.Wait()
}

// tablesCaughtUp says whether nothing in the stream is left to store in the database.
func (c *Client) tablesCaughtUp(ctx context.Context) (bool, error) {
	consumers, err := c.tableConsumers(ctx)
	if err != nil {
		return false, err
	}
	for _, consumer := range consumers {
		stored, err := pipelines.ConsumerProgress(ctx, c.stream, consumer)
		if err != nil || !stored.CaughtUp() {
			return false, err
		}
	}
	return true, nil
}
