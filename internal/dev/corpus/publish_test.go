package corpus_test

import (
	"context"
	"encoding/binary"
	"errors"
	"math"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/zeebo/xxh3"

	"github.com/tensortap/tensortap/internal/dev/corpus"
	"github.com/tensortap/tensortap/internal/dev/testbed"
	"github.com/tensortap/tensortap/internal/system"
	"github.com/tensortap/tensortap/pipelines"
	"github.com/tensortap/tensortap/producers/msprobe"
	"github.com/tensortap/tensortap/schemas"
)

// bench is a running system and the runs that are in it.
type bench struct {
	*system.Client
	database  driver.Conn // that the client asks, too
	dir       string
	mutex     sync.Mutex
	published map[string]bool
}

// withBench runs job on a system of its own.
func withBench(t *testing.T, job func(ctx context.Context, b *bench) error) {
	t.Helper()
	cfg := system.DefaultConfig("", time.Now)
	cfg.Library, cfg.Command = testbed.Library(t), testbed.Command(t)
	err := system.WithTemporary(t.Context(), t.TempDir(), cfg, func(ctx context.Context, c *system.Client) error {
		options, err := clickhouse.ParseDSN(c.Endpoint.ClickHouse)
		if err != nil {
			return err
		}
		database, err := clickhouse.Open(options)
		if err != nil {
			return err
		}
		err = job(ctx, &bench{Client: c, database: database, dir: t.TempDir(), published: map[string]bool{}})
		return errors.Join(err, database.Close())
	})
	if err != nil {
		t.Fatal(err)
	}
}

// publish stores both sides of a case, unless they are there already.
func (b *bench) publish(ctx context.Context, c corpus.Case) error {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	for _, side := range []corpus.Side{c.Problem, c.Bench} {
		if b.published[side.Name] {
			continue
		}
		b.published[side.Name] = true
		dir := filepath.Join(b.dir, schemas.FormatID(schemas.RunID(side.Name)))
		if err := side.Run.Write(dir); err != nil {
			return err
		}
		if side.Vectors != nil {
			if err := b.publishSketched(ctx, side, dir); err != nil {
				return err
			}
			continue
		}
		if _, err := b.Publish(ctx, msprobe.Tool(), system.PublishRequest{Path: dir, Run: side.Name}, func(int64, int64) {}); err != nil {
			return err
		}
	}
	return b.WaitStored(ctx)
}

// publishSketched publishes a dump as a collector that takes sketches would have.
func (b *bench) publishSketched(ctx context.Context, side corpus.Side, dir string) error {
	conn, err := nats.Connect(b.Endpoint.NATS, nats.Timeout(time.Minute))
	if err != nil {
		return err
	}
	defer conn.Close()
	js, err := jetstream.New(conn, jetstream.WithDefaultTimeout(time.Minute))
	if err != nil {
		return err
	}
	cfg := pipelines.DefaultConfig().Publish
	cfg.SpillDir = filepath.Join(dir, "spill")
	publisher, err := pipelines.NewPublisher(cfg, js, time.Now, nil)
	if err != nil {
		return err
	}
	messages, err := sketchedMessages(ctx, side, dir)
	if err != nil {
		return err
	}
	for _, m := range messages {
		if err := publisher.Publish(ctx, m); err != nil {
			return err
		}
	}
	return publisher.Flush(ctx)
}

func sketchedMessages(ctx context.Context, side corpus.Side, dir string) ([]schemas.Message, error) {
	found, err := msprobe.Find(dir)
	if err != nil {
		return nil, err
	}
	run := msprobe.RunRow(found, side.Name, nil)
	run.Source = "collector"
	first, err := msprobe.RunMessage(&run)
	if err != nil {
		return nil, err
	}
	messages := []schemas.Message{first}
	source, err := msprobe.Open(found.Dumps[0], msprobe.DefaultOptions(side.Name))
	if err != nil {
		return nil, err
	}
	for m, err := range source.Batches(ctx) {
		if err != nil {
			return nil, err
		}
		if m.Header.Kind == "tensor" {
			if m, err = withSketches(m, side); err != nil {
				return nil, err
			}
		}
		messages = append(messages, m)
	}
	return messages, nil
}

// withSketches adds to each row the sketch of its tensor, and a digest where the side has them.
func withSketches(m schemas.Message, side corpus.Side) (schemas.Message, error) {
	vectors := map[uint64][]float32{}
	for site, x := range side.Vectors {
		vectors[schemas.SiteID(schemas.OpID(site.Op), site.Role, site.Path)] = x
	}
	rows, err := schemas.DecodeRows[schemas.TensorRow](m)
	if err != nil {
		return m, err
	}
	b := schemas.NewBuilder[schemas.TensorRow]()
	for i := range rows {
		x := vectors[rows[i].SiteID]
		rows[i].Sketch = corpus.Sketch(x)
		if side.Digests {
			rows[i].Digest, rows[i].DigestKind = digestOf(x), schemas.DigestTap
		}
		b.Append(&rows[i])
	}
	return b.Message(schemas.Identity{RunID: rows[0].RunID, Rank: rows[0].Rank, Epoch: rows[0].Epoch, Batch: rows[0].Batch})
}

// digestOf is a hash of the elements in their order.
func digestOf(x []float32) uint64 {
	var bytes []byte
	for _, v := range x {
		bytes = binary.LittleEndian.AppendUint32(bytes, math.Float32bits(v))
	}
	return xxh3.Hash(bytes)
}
