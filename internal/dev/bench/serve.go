package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/tensortap/tensortap/internal/system"
	"github.com/tensortap/tensortap/pipelines"
	"github.com/tensortap/tensortap/schemas"
)

// server is a whole system in this process, as `tensortap up` runs it, reached
// over the network as any other program reaches it.
type server struct {
	client   *system.Client
	endpoint system.Endpoint
	stream   jetstream.JetStream
	database driver.Conn
}

// withServer runs job on a durable system of its own in a new folder.
func (e *env) withServer(ctx context.Context, change func(*system.Config), job func(context.Context, *server) error) error {
	folder, err := os.MkdirTemp(e.folder, "system-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder) //nolint:errcheck // scratch
	cfg := system.DefaultConfig(system.Folder(folder), time.Now)
	cfg.Library, cfg.Command = e.library, []string{e.self, "engine", "serve"}
	if change != nil {
		change(&cfg)
	}
	return system.WithSystem(ctx, cfg, func(ctx context.Context, client *system.Client) error {
		s, err := connect(client.Endpoint)
		if err != nil {
			return err
		}
		s.client = client
		return errors.Join(job(ctx, s), s.close())
	})
}

func connect(endpoint system.Endpoint) (*server, error) {
	conn, err := nats.Connect(endpoint.NATS)
	if err != nil {
		return nil, err
	}
	stream, err := jetstream.New(conn, jetstream.WithPublishAsyncMaxPending(8192))
	if err != nil {
		return nil, err
	}
	options, err := clickhouse.ParseDSN(endpoint.ClickHouse)
	if err != nil {
		return nil, err
	}
	database, err := clickhouse.Open(options)
	return &server{endpoint: endpoint, stream: stream, database: database}, err
}

func (s *server) close() error {
	s.stream.Conn().Close()
	return s.database.Close()
}

func (s *server) publisher() (*pipelines.Publisher, error) {
	cfg := pipelines.DefaultConfig().Publish
	cfg.SpillDir = filepath.Join(string(s.endpoint.Folder), "spill")
	return pipelines.NewPublisher(cfg, s.stream, time.Now, nil)
}

// stored returns when these consumers have acknowledged all of the stream.
func (s *server) stored(ctx context.Context, consumers ...string) error {
	return pipelines.WaitStored(ctx, s.stream, 0, 5*time.Millisecond, consumers...)
}

// number asks for one number.
func (s *server) number(ctx context.Context, query string) (float64, error) {
	var n float64
	err := s.database.QueryRow(ctx, query).Scan(&n)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", query, err)
	}
	return n, nil
}

// builder makes messages of tensor rows.
type builder = *schemas.Builder[schemas.TensorRow, *schemas.TensorRow]

// next packs so many rows of the generator.
func (g *generator) message(b builder, batch uint64, rows int) (schemas.Message, error) {
	for range rows {
		b.Append(g.next(batch))
	}
	return b.Message(schemas.Identity{RunID: g.run, Epoch: g.epoch, Batch: batch})
}
