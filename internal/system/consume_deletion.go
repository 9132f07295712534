package system

import (
	"context"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/rs/zerolog"
	"golang.org/x/sync/errgroup"

	"github.com/tensortap/tensortap/consumers/clickhouse"
	"github.com/tensortap/tensortap/internal/retention"
	"github.com/tensortap/tensortap/pipelines"
)

// sweepEvery is how often that is removed from the stream which came late of deleted runs.
const sweepEvery = time.Minute

// shardStore is the part of the tables that a process fills from a shard of the stream, for as long as the fence is its own.
type shardStore struct {
	database driver.Conn
	writer   *clickhouse.Writer
	fence    clickhouse.Fence
	names    []string // consumers of all shards
	shard    int
}

// shardDeletions are those out of the tables. Whoever has a shard notes that nothing of the run comes from there any more; who
// has the first then removes the run. A process that takes a shard claims it, and then looks what was decided.
func (c *Client) shardDeletions(ctx context.Context, s shardStore, log zerolog.Logger) (*deleting, error) {
	removal := &retention.Removal{Tables: s.writer, Agreed: s.agreed, Deleted: &retention.Deleted{}}
	d, err := c.newDeleting(ctx, removal, log, s.names[s.shard])
	if err == nil && s.shard == 0 {
		removal.Stream, removal.Database = d.stream, s.database
	}
	return d, err
}

// agreed is an error until nobody stores anything of what goes by this shard or, for the first, by any. Who claims a shard from now
// on looks after that what goes.
func (s shardStore) agreed(ctx context.Context, going *pipelines.Going) error {
	mine, err := s.fence.Mine(ctx, s.database)
	if err != nil {
		return err
	}
	if !mine || s.shard == 0 && len(going.Left(s.names[1:])) > 0 {
		return retention.ErrTooEarly
	}
	return nil
}

// beside carries deletions out while the stores are filled, until that ends.
func (d *deleting) beside(ctx context.Context, fill func(context.Context) error) error {
	carrying, stop := context.WithCancel(ctx)
	var group errgroup.Group
	group.Go(func() error {
		d.follow(carrying)
		return nil
	})
	group.Go(func() error {
		d.run(carrying)
		return nil
	})
	err := fill(ctx)
	stop()
	_ = group.Wait() // neither has an error
	return err
}

func (d *deleting) run(ctx context.Context) {
	tick := time.NewTicker(sweepEvery)
	defer tick.Stop()
	d.all(ctx)
	if d.removal.Stream != nil {
		d.sweepOthers(ctx)
	}
	for {
		select {
		case <-d.due:
			d.all(ctx)
		case <-tick.C:
			d.sweep(ctx)
		case <-ctx.Done():
			return
		}
	}
}
