package system

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"

	"github.com/tensortap/tensortap/consumers/clickhouse"
	"github.com/tensortap/tensortap/internal/retention"
	"github.com/tensortap/tensortap/pipelines"
	"github.com/tensortap/tensortap/sql"
)

// ConsumeRequest says which stores are filled from a stream elsewhere.
type ConsumeRequest struct {
	Tables   bool // of the ClickHouse server, beside other processes that do so
	Archive  bool // in the data folder
	Replicas int  // how many servers keep the stream, at least; 0 leaves that to their administrator
	Ready    func() error
}

// validate says what is wrong with the request.
func (r ConsumeRequest) validate(cfg Config) error {
	switch {
	case cfg.NATS == "":
		return errors.New("consume stores the events of a NATS server elsewhere: name it with --nats or TENSORTAP_NATS; `tensortap up` has one inside")
	case r.Tables && cfg.ClickHouse == "":
		return errors.New("consume fills the tables of a ClickHouse server elsewhere: name it with --clickhouse or TENSORTAP_CLICKHOUSE, or leave the tables out with --store archive")
	case !r.Tables && !r.Archive:
		return errors.New("nothing to store into")
	case cfg.ArchiveAge <= 0:
		return errors.New("the archive age must be greater than zero")
	case len(cfg.Rules) > 0 && !r.Tables:
		return errors.New("rules of retention ask the tables how old runs are: give --retention to a consume that fills tables")
	}
	return nil
}

// consumption is one process that stores events.
type consumption struct {
	cfg     Config
	request ConsumeRequest
	client  *Client
	holder  string // this process, and no other
}

// Consume stores the events of a stream until ctx ends.
func Consume(ctx context.Context, cfg Config, r ConsumeRequest) error {
	if err := r.validate(cfg); err != nil {
		return err
	}
	c := &consumption{cfg: cfg, request: r, holder: worker()}
	var err error
	if c.client, err = c.connect(ctx); err != nil {
		return err
	}
	defer c.client.Close()
	c.client.Observe(c.cfg.Health)
	c.cfg.Health.Stream(c.client.stream)
	if err := c.patiently(ctx, c.prepare); err != nil {
		return stopped(ctx, err)
	}
	group, consuming := errgroup.WithContext(ctx)
	if r.Tables {
		group.Go(func() error { return c.patiently(consuming, c.fillTables) })
		group.Go(func() error { return c.client.expire(consuming, cfg.Rules, cfg.Log) })
	}
	if r.Archive {
		group.Go(func() error { return c.fillArchive(consuming) })
	}
	group.Go(func() error { return pipelines.AnswerMeasures(consuming, c.client.stream) })
	group.Go(r.Ready)
	return group.Wait()
}

// patiently does a part of the work, again and again while a server does not answer.
func (c *consumption) patiently(ctx context.Context, do func(context.Context) error) error {
	return patiently(ctx, logWaiting(c.cfg.Log), func() error { return do(ctx) })
}

// stopped is no error where somebody stopped what failed, be it as soon as it had started.
func stopped(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil //nolint:nilerr // it was stopped
	}
	return err
}

// worker names this process among those of all hosts.
func worker() string {
	host, _ := os.Hostname() // it only tells people who it is
	return fmt.Sprintf("%s %d %s", host, os.Getpid(), rand.Text())
}

func (c *consumption) connect(ctx context.Context) (*Client, error) {
	if c.request.Tables {
		return Connect(ctx, c.endpoint(), c.cfg.Now)
	}
	return ConnectStream(c.endpoint(), c.cfg.Now)
}

func (c *consumption) endpoint() Endpoint {
	return Endpoint{Folder: c.cfg.Folder, NATS: c.cfg.NATS, ClickHouse: c.cfg.ClickHouse, Reader: c.cfg.ClickHouse, Login: c.cfg.Login}
}

// prepare makes what this process and its like need: streams, tables, views and consumers.
func (c *consumption) prepare(ctx context.Context) error {
	if c.request.Tables {
		if err := c.takeOver(ctx); err != nil {
			return err
		}
	}
	cfg, err := c.pipelines(ctx)
	if err != nil {
		return err
	}
	if err := pipelines.Prepare(ctx, c.client.stream, cfg); err != nil {
		return err
	}
	if !c.request.Tables {
		return nil
	}
	return c.alone(ctx, "consume.prepare", func(ctx context.Context) error {
		if err := clickhouse.Migrate(ctx, c.client.database, sql.Files); err != nil {
			return err
		}
		if err := c.reclaim(ctx); err != nil {
			return err
		}
		names, err := c.client.shardConsumers(ctx)
		for shard := range names {
			cfg := c.shard(cfg, shard)
			_, failed := pipelines.PrepareConsumer(ctx, c.client.stream, cfg.Stream, names[shard])
			err = errors.Join(err, failed)
		}
		return err
	})
}

// reclaim does so for a server that knows nothing at all.
func (c *consumption) reclaim(ctx context.Context) error {
	known, err := pipelines.Sources(ctx, c.client.stream)
	if err != nil || len(known) > 0 {
		return err
	}
	made, err := c.client.Reclaim(ctx)
	if text := made.String(); text != "" {
		c.cfg.Log.Error().Msg("the stream's server had lost, and it was made again from the tables: " + text)
	}
	return err
}

// takeOver makes sure that no `tensortap up` stores the stream into the same tables. Its consumer is of no more use.
func (c *consumption) takeOver(ctx context.Context) error {
	before, err := c.client.stream.Consumer(ctx, pipelines.StreamName, databaseConsumer)
	if errors.Is(err, jetstream.ErrConsumerNotFound) || errors.Is(err, jetstream.ErrStreamNotFound) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look who stores the stream: %w", err)
	}
	if before.CachedInfo().NumWaiting > 0 {
		return errors.New("a `tensortap up` stores the events of this stream: stop it, then `tensortap consume` goes on where it ended")
	}
	err = c.client.stream.DeleteConsumer(ctx, pipelines.StreamName, databaseConsumer)
	if err != nil && !errors.Is(err, jetstream.ErrConsumerNotFound) {
		return fmt.Errorf("remove the consumer of `tensortap up`: %w", err)
	}
	return nil
}

// alone does a job that one process at a time may do.
func (c *consumption) alone(ctx context.Context, work string, do func(context.Context) error) error {
	leases, err := pipelines.OpenLeases(ctx, c.client.stream, c.holder)
	if err != nil {
		return err
	}
	for {
		mine, err := leases.Take(ctx, work)
		if err != nil {
			return err
		}
		if mine {
			break
		}
		select {
		case <-time.After(sharingLook):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	renewing, stop := context.WithCancel(ctx)
	var group errgroup.Group
	group.Go(func() error {
		leases.Renew(renewing)
		return nil
	})
	err = do(ctx)
	stop()
	return errors.Join(err, group.Wait())
}

// pipelines is the configuration of the stream; what the stream may hold stays as it is unless it was asked for.
func (c *consumption) pipelines(ctx context.Context) (pipelines.Config, error) {
	cfg := pipelines.DefaultConfig()
	cfg.Stream.Consumers, cfg.Stream.Sharded, cfg.Stream.Replicas = nil, c.request.Tables, c.request.Replicas
	cfg.Publish.SpillDir, cfg.Deliver.Tracer = c.cfg.Folder.spill(), c.cfg.Health.Tracer()
	stream, err := c.client.stream.Stream(ctx, pipelines.StreamName)
	switch {
	case errors.Is(err, jetstream.ErrStreamNotFound):
	case err != nil:
		return cfg, fmt.Errorf("look at the stream: %w", err)
	default:
		have := stream.CachedInfo().Config
		cfg.Stream.MaxAge = max(cfg.Stream.MaxAge, have.MaxAge)
		if have.MaxBytes > 0 {
			cfg.Stream.MaxBytes = have.MaxBytes
		}
	}
	if c.cfg.StreamBytes > 0 {
		cfg.Stream.MaxBytes = c.cfg.StreamBytes
	}
	cfg.Stream.Forget = cfg.Stream.MaxAge
	return cfg, nil
}

// archiveLook is how often a process asks whether the archive is free.
const archiveLook = time.Second

// fillArchive stores all of the stream in the archive of the data folder. The archive is one process's at a time, whose
// lock on the folder ends with it: others wait for that, and each other folder has an archive of its own, that is whole.
func (c *consumption) fillArchive(ctx context.Context) error {
	store, err := openArchive(ctx, c.cfg)
	for told := false; isInUse(err); store, err = openArchive(ctx, c.cfg) {
		if !told {
			c.cfg.Log.Warn().Str("folder", c.cfg.Folder.archive()).Msg("another process writes the archive, waiting for its end")
			told = true
		}
		select {
		case <-time.After(archiveLook):
		case <-ctx.Done():
			return nil
		}
	}
	if err != nil {
		return err
	}
	return errors.Join(c.deliverAndCopy(ctx, store), store.close())
}

func (c *consumption) deliverArchive(ctx context.Context, store *archive) error {
	cfg, err := c.pipelines(ctx)
	if err != nil {
		return err
	}
	consumer, err := c.archiveConsumer()
	if err != nil {
		return err
	}
	cfg.Stream.Consumers = []string{consumer}
	cfg.Deliver.BatchAge, cfg.Deliver.BatchRows, cfg.Deliver.RowBytes = c.cfg.ArchiveAge, archiveRows, archiveRowBytes
	if store.damaged { // what it lost may still be in the stream
		if err := pipelines.Replay(ctx, c.client.stream, cfg, consumer); err != nil {
			return err
		}
	}
	deletions, err := c.client.newDeleting(ctx, &retention.Removal{Archive: store.writer, Copied: store.removeCopied(), Deleted: &retention.Deleted{}}, c.cfg.Log, consumer)
	if err != nil {
		return err
	}
	d, err := pipelines.New(cfg, c.client.stream, consumer, deletions.removal.Deleted.Heeding(c.cfg.Health.Timed(consumer, store.writer)), c.cfg.Log, c.cfg.Now)
	if err != nil {
		return fmt.Errorf("deliver to the archive: %w", err)
	}
	c.cfg.Health.Delivery(consumer, d.Metrics())
	return deletions.beside(ctx, d.Run)
}
