package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"

	"github.com/tensortap/tensortap/schemas"
)

// naiveBatch is how many rows the naive consumer inserts at once, if as many are there.
const naiveBatch = 20_000

const naiveStream, naiveSubject = "NAIVE", "naive.tensor"

// naiveThroughput is rows per second the way it is often done: one event is one JSON message.
func naiveThroughput(ctx context.Context, s *server, rows int) (float64, error) {
	_, err := s.stream.CreateStream(ctx, jetstream.StreamConfig{
		Name: naiveStream, Subjects: []string{"naive.>"}, Storage: jetstream.FileStorage, MaxBytes: 192 << 20, Discard: jetstream.DiscardNew,
	})
	if err != nil {
		return 0, err
	}
	consumer, err := s.stream.CreateConsumer(ctx, naiveStream, jetstream.ConsumerConfig{
		Durable: "naive", AckPolicy: jetstream.AckExplicitPolicy, MaxAckPending: 1 << 20, AckWait: time.Minute,
	})
	if err != nil {
		return 0, err
	}
	took, err := elapsed(func() error {
		group, ctx := errgroup.WithContext(ctx)
		group.Go(func() error { return naiveProduce(ctx, s, rows) })
		group.Go(func() error { return naiveConsume(ctx, s, consumer, rows) })
		return group.Wait()
	})
	if err != nil {
		return 0, err
	}
	return float64(rows) / took, s.holds(ctx, float64(rows))
}

func naiveProduce(ctx context.Context, s *server, rows int) error {
	js, err := jetstream.New(s.stream.Conn(), jetstream.WithPublishAsyncMaxPending(4096))
	if err != nil {
		return err
	}
	g := newGenerator(schemas.RunID("naive"), time.Now().UnixNano())
	var sent []jetstream.PubAckFuture
	for range rows {
		data, err := json.Marshal(g.next(0))
		if err != nil {
			return err
		}
		future, err := js.PublishAsync(naiveSubject, data, jetstream.WithStallWait(10*time.Second))
		if err != nil {
			return err
		}
		sent = append(sent, future)
	}
	select {
	case <-js.PublishAsyncComplete():
	case <-ctx.Done():
		return ctx.Err()
	}
	for _, future := range sent {
		select {
		case err := <-future.Err():
			return err
		default:
		}
	}
	return nil
}

// naiveConsume inserts what has arrived, at most naiveBatch rows and at most 200 ms old.
func naiveConsume(ctx context.Context, s *server, consumer jetstream.Consumer, rows int) error {
	insert := naiveInsert()
	for stored := 0; stored < rows; {
		messages, err := consumer.Fetch(min(naiveBatch, rows-stored), jetstream.FetchMaxWait(200*time.Millisecond))
		if err != nil {
			return err
		}
		var batch []jetstream.Msg
		for m := range messages.Messages() {
			batch = append(batch, m)
		}
		if len(batch) == 0 {
			continue
		}
		if err := naiveStore(ctx, s, insert, batch); err != nil {
			return err
		}
		stored += len(batch)
	}
	return nil
}

func naiveInsert() string {
	var columns []string
	for _, c := range schemas.Tensor().Columns {
		columns = append(columns, c.Name)
	}
	return "INSERT INTO tap_store.tensor (" + strings.Join(columns, ", ") + ")"
}

func naiveStore(ctx context.Context, s *server, insert string, messages []jetstream.Msg) error {
	ctx = clickhouse.Context(ctx, clickhouse.WithSettings(clickhouse.Settings{"async_insert": 0}))
	batch, err := s.database.PrepareBatch(ctx, insert)
	if err != nil {
		return err
	}
	defer batch.Close() //nolint:errcheck // Send says what went wrong
	for _, m := range messages {
		var r schemas.TensorRow
		if err := json.Unmarshal(m.Data(), &r); err != nil {
			return err
		}
		err := batch.Append(r.RunID, r.Rank, r.Epoch, r.Batch, r.EventTimeNs, r.Step, r.MicroStep, r.Seq, r.SiteID, r.LayoutID, r.Measured,
			r.ElementCount, r.ValueMin, r.ValueMax, r.ValueMean, r.ValueM2, r.ValueL2, r.ValueL1, r.NaNCount, r.PositiveInfinityCount,
			r.NegativeInfinityCount, r.ZeroCount, r.SubnormalCount, r.Digest, r.DigestKind, r.Sketch)
		if err != nil {
			return err
		}
	}
	if err := batch.Send(); err != nil {
		return fmt.Errorf("insert %d rows: %w", len(messages), err)
	}
	for _, m := range messages {
		if err := m.Ack(); err != nil {
			return err
		}
	}
	return nil
}
