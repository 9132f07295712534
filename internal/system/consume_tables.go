package system

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/tensortap/tensortap/consumers/clickhouse"
	"github.com/tensortap/tensortap/pipelines"
	"github.com/tensortap/tensortap/schemas"
)

// Limits of the delivery of one shard: a process may have all of them.
const (
	shardBatchBytes = 16 << 20
	shardHeldBytes  = 2 * shardBatchBytes
	shardPullBytes  = 9 << 20
	shardWriteBytes = 96 << 20 // of rows once decompressed
	shardBatchAge   = 500 * time.Millisecond
	// shardAckWait bounds how long messages stay with a process that was stopped, and pulled them as it went on.
	shardAckWait = 15 * time.Second
	// shardPullAge ends the requests of a process that was stopped before another takes its shards.
	shardPullAge = pipelines.LeaseAge / 2
)

// shard is the configuration of one shard's delivery.
func (*consumption) shard(cfg pipelines.Config, shard int) pipelines.Config {
	cfg.Stream.Subjects, cfg.Stream.AckWait = pipelines.ShardSubjects(shard), shardAckWait
	cfg.Deliver.BatchBytes, cfg.Deliver.HeldBytes, cfg.Deliver.PullBytes = shardBatchBytes, shardHeldBytes, shardPullBytes
	cfg.Deliver.WriteBytes = shardWriteBytes
	cfg.Deliver.BatchAge, cfg.Deliver.PullAge = shardBatchAge, shardPullAge
	return cfg
}

// fillTables takes this process's share of the shards, and stores their messages in the tables.
func (c *consumption) fillTables(ctx context.Context) error {
	names, err := c.client.shardConsumers(ctx)
	if err != nil {
		return err
	}
	group := "consume." + names[0]
	shares, err := pipelines.OpenShares(ctx, c.client.stream, group, pipelines.Shards, c.holder, c.cfg.Log)
	if err != nil {
		return err
	}
	return shares.Run(ctx, func(ctx context.Context, shard int) error {
		if shard > 0 {
			return c.fillShard(ctx, names, shard)
		}
		group, filling := errgroup.WithContext(ctx)
		group.Go(func() error { return c.fillShard(filling, names, shard) })
		group.Go(func() error { return c.client.mendTrend(filling, c.cfg.Log) }) // by one process
		return group.Wait()
	})
}

// fillShard stores the messages of a shard until ctx ends, or another process has claimed it.
func (c *consumption) fillShard(ctx context.Context, names []string, shard int) error {
	cfg, err := c.pipelines(ctx)
	if err != nil {
		return err
	}
	if err := c.awaitEarlier(ctx, names[0], shard); err != nil {
		return err
	}
	database, err := connectDatabase(ctx, c.endpoint(), c.cfg.ClickHouse) // each shard has connections of its own
	if err != nil {
		return err
	}
	defer database.Close() //nolint:errcheck // nothing is under way
	fence, err := clickhouse.Claim(ctx, database, names[shard], c.holder)
	if err != nil {
		return err
	}
	to := clickhouse.DefaultConfig()
	to.Name, to.Fence, to.Inserts = fence.Name, &fence, 1
	writer, err := clickhouse.New(to, database)
	if err != nil {
		return err
	}
	deletions, err := c.client.shardDeletions(ctx, shardStore{database, writer, fence, names, shard}, c.cfg.Log)
	if err != nil {
		return err
	}
	storing, end := context.WithCancelCause(ctx)
	defer end(nil)
	sink := deletions.removal.Deleted.Heeding(c.cfg.Health.Timed(names[shard], fenced{watched{writer, c.cfg.Log}, end}))
	d, err := pipelines.New(c.shard(cfg, shard), c.client.stream, names[shard], sink, c.cfg.Log, c.cfg.Now)
	if err != nil {
		return fmt.Errorf("deliver to ClickHouse: %w", err)
	}
	c.cfg.Health.Delivery(names[shard], d.Metrics())
	if err := deletions.beside(storing, d.Run); err != nil || ctx.Err() != nil {
		return err
	}
	return context.Cause(storing)
}

// awaitEarlier waits until the first shard has stored what was in the stream before that was shared out: no other may
// store batches of the same ranks meanwhile.
func (c *consumption) awaitEarlier(ctx context.Context, first string, shard int) error {
	if shard == 0 {
		return nil
	}
	left, err := pipelines.Unsharded(ctx, c.client.stream)
	if err != nil || !left {
		return err
	}
	return pipelines.WaitStored(ctx, c.client.stream, 0, archiveLook/10, first)
}

// errClaimed ends a term.
var errClaimed = errors.New("another process has claimed the shard")

// fenced is a writer whose delivery ends once another has claimed its name.
type fenced struct {
	watched

	end context.CancelCauseFunc
}

// Write implements pipelines.Sink.
func (f fenced) Write(ctx context.Context, messages []schemas.Message) error {
	err := f.watched.Write(ctx, messages)
	if clickhouse.Fenced(err) {
		f.end(errClaimed)
	}
	return err
}
