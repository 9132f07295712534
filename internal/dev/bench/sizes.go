package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/tensortap/tensortap/internal/system"
	"github.com/tensortap/tensortap/producers/msprobe"
	"github.com/tensortap/tensortap/schemas"
)

// sizes of what a stream of events takes, in bytes per row of tensor.
type sizes struct {
	rows                          float64
	bus, whole                    float64 // messages of tensor; of all kinds
	parquet, stored, merged, json float64
}

// measureSizes stores real and random statistics, and adds up the bytes.
func measureSizes(ctx context.Context, e *env) (section, error) {
	var s section
	cases := []struct {
		what    string
		publish func(context.Context, *server) error
	}{
		{"recorded dumps as they are", e.publishDumps},
		{"recorded rows as many steps, new mantissas", e.publishSteps},
		{"random statistics, all six", e.publishRandom},
	}
	for _, c := range cases {
		err := e.withServer(ctx, shortArchiveAge, func(ctx context.Context, server *server) error {
			if err := c.publish(ctx, server); err != nil {
				return err
			}
			got, err := server.sizes(ctx)
			got.figures(&s, c.what)
			return err
		})
		if err != nil {
			return s, err
		}
	}
	s.note("Per row of `tensor`, not compressed again. *Bus* is data, headers and subject of its messages; *ClickHouse* is what system.parts says of it, as inserted and after OPTIMIZE FINAL.")
	s.note("JSON is one object per event with the columns' names as keys. Not rounded, not compressed.")
	s.note("As they are, dumps are small: one message, one file and one part hold a step of a rank, 300 to 3,000 rows, so that headers and footers weigh more than they do in a long run, " +
		"and definitions, which a long run sends once, twice as much as the events. Every statistic an msProbe dump has is there, four of eleven, the others are 0.")
	s.note("As many steps: all statistics of those rows drawn anew in the last 20 bits of a float32's mantissa for each step, so that no step repeats another.")
	return s, nil
}

func (z *sizes) figures(s *section, what string) {
	one := func(name string, bytes, mark float64) {
		f := rounds{bytes / z.rows}.atMost(what+": "+name, mark, bytesEach)
		f.detail = fmt.Sprintf("JSON %s, %s", bytesEach(z.json/z.rows), times(z.json/bytes))
		s.add(f)
	}
	one("bus", z.bus, 50)
	one("bus, definitions included", z.whole, 0)
	one("Parquet", z.parquet, 22)
	one("ClickHouse", z.stored, 0)
	one("ClickHouse, merged", z.merged, 25)
}

// sizes waits until all is stored.
func (s *server) sizes(ctx context.Context) (z sizes, err error) {
	if err := s.stored(ctx, "clickhouse", "parquet"); err != nil {
		return z, err
	}
	if err := s.onBus(ctx, &z); err != nil {
		return z, err
	}
	const onDisk = "SELECT toFloat64(sum(bytes_on_disk)) FROM system.parts WHERE database = 'tap_store' AND table = 'tensor' AND active"
	if z.stored, err = s.number(ctx, onDisk); err != nil {
		return z, err
	}
	if err := s.database.Exec(ctx, "OPTIMIZE TABLE tap_store.tensor FINAL"); err != nil {
		return z, err
	}
	if z.merged, err = s.number(ctx, onDisk); err != nil {
		return z, err
	}
	z.parquet = float64(folderSize(filepath.Join(s.endpoint.Archive, "event=tensor")))
	return z, s.holds(ctx, z.rows)
}

// onBus reads the whole stream once more.
func (s *server) onBus(ctx context.Context, z *sizes) error {
	stream, err := s.stream.Stream(ctx, "TAP")
	if err != nil {
		return err
	}
	consumer, err := s.stream.OrderedConsumer(ctx, "TAP", jetstream.OrderedConsumerConfig{})
	if err != nil {
		return err
	}
	messages, err := consumer.Messages()
	if err != nil {
		return err
	}
	defer messages.Stop()
	for range stream.CachedInfo().State.Msgs {
		wire, err := messages.Next(jetstream.NextMaxWait(10 * time.Second))
		if err != nil {
			return err
		}
		if err := z.count(wire); err != nil {
			return err
		}
	}
	return nil
}

func (z *sizes) count(wire jetstream.Msg) error {
	size := len(wire.Data()) + len(wire.Subject())
	for name, values := range wire.Headers() {
		size += len(name) + len(strings.Join(values, "")) + len(": \r\n")
	}
	z.whole += float64(size)
	if !strings.HasPrefix(wire.Subject(), "tap.tensor.") {
		return nil
	}
	z.bus += float64(size)
	m, err := schemas.ParseMessage(wire.Subject(), wire.Headers(), wire.Data(), 0)
	if err != nil {
		return err
	}
	rows, err := schemas.DecodeRows[schemas.TensorRow](m)
	if err != nil {
		return err
	}
	z.rows += float64(len(rows))
	for i := range rows {
		z.json += float64(len(eventJSON(&rows[i])))
	}
	return nil
}

// eventJSON is an event as JSON is written by most: names and numbers. What JSON cannot hold is a word.
func eventJSON(r *schemas.TensorRow) []byte {
	for _, v := range []*float64{&r.ValueMin, &r.ValueMax, &r.ValueMean, &r.ValueM2, &r.ValueL2, &r.ValueL1} {
		if math.IsNaN(*v) || math.IsInf(*v, 0) {
			*v = 12345 // as many bytes as "NaN"
		}
	}
	text, err := json.Marshal(struct {
		RunID         uint64  `json:"run_id"`
		Rank          uint32  `json:"rank"`
		EventTimeNs   int64   `json:"event_time_ns"`
		Step          uint32  `json:"step"`
		Seq           uint64  `json:"seq"`
		SiteID        uint64  `json:"site_id"`
		LayoutID      uint64  `json:"layout_id"`
		ElementCount  uint64  `json:"element_count"`
		ValueMin      float64 `json:"value_min"`
		ValueMax      float64 `json:"value_max"`
		ValueMean     float64 `json:"value_mean"`
		ValueM2       float64 `json:"value_m2,omitempty"`
		ValueL2       float64 `json:"value_l2"`
		ValueL1       float64 `json:"value_l1,omitempty"`
		NaNCount      uint64  `json:"nan_count"`
		InfinityCount uint64  `json:"infinity_count"`
		ZeroCount     uint64  `json:"zero_count"`
	}{
		r.RunID, r.Rank, r.EventTimeNs, r.Step, r.Seq, r.SiteID, r.LayoutID, r.ElementCount, r.ValueMin, r.ValueMax, r.ValueMean,
		r.ValueM2, r.ValueL2, r.ValueL1, r.NaNCount, r.PositiveInfinityCount + r.NegativeInfinityCount, r.ZeroCount,
	})
	if err != nil {
		return nil
	}
	return text
}

// publishDumps publishes every recorded dump that has statistics.
func (e *env) publishDumps(ctx context.Context, s *server) error {
	archives, err := filepath.Glob(filepath.Join(e.dumps, "*.tar.gz"))
	if err != nil {
		return err
	}
	for _, path := range archives {
		name := strings.TrimSuffix(filepath.Base(path), ".tar.gz")
		if strings.Contains(name, "md5") || strings.Contains(name, "xor") || strings.Contains(name, "structure") {
			continue
		}
		root, err := e.unpack(name, filepath.Join(e.folder, "dumps"))
		if err != nil {
			return err
		}
		request := system.PublishRequest{Path: root, Run: name}
		if _, err := s.client.Publish(ctx, msprobe.Tool(), request, func(int64, int64) {}); err != nil {
			return err
		}
	}
	return nil
}

// publishSteps publishes the rows of one recorded step again and again, with new mantissas.
func (e *env) publishSteps(ctx context.Context, s *server) error {
	rows, err := e.recordedRows(ctx)
	if err != nil {
		return err
	}
	publisher, err := s.publisher()
	if err != nil {
		return err
	}
	g := newGenerator(schemas.RunID("steps"), time.Now().UnixNano())
	b := schemas.NewBuilder[schemas.TensorRow]()
	for step := range uint64(e.pick(1000, 100)) {
		for _, r := range rows {
			r.RunID, r.Epoch, r.Batch, r.Step = g.run, g.epoch, step, uint32(step) //nolint:gosec // a small number
			r.Seq += step * uint64(len(rows))
			r.EventTimeNs = g.row.EventTimeNs + int64(step)*1e8 //nolint:gosec // a small number
			for _, v := range []*float64{&r.ValueMin, &r.ValueMax, &r.ValueMean, &r.ValueL2} {
				*v = g.redrawn(*v)
			}
			b.Append(&r)
		}
		m, err := b.Message(schemas.Identity{RunID: g.run, Epoch: g.epoch, Batch: step})
		if err != nil {
			return err
		}
		if err := publisher.Publish(ctx, m); err != nil {
			return err
		}
	}
	return publisher.Flush(ctx)
}

// redrawn is a float32 with other last bits; whole numbers and what is not finite stay.
func (g *generator) redrawn(v float64) float64 {
	if v == math.Trunc(v) || math.IsNaN(v) || math.IsInf(v, 0) {
		return v
	}
	return float64(math.Float32frombits(math.Float32bits(float32(v)) ^ uint32(g.random.Uint64()>>44)))
}

// recordedRows are the rows of one step of a recorded dump, read as a consumer does.
func (e *env) recordedRows(ctx context.Context) (rows []schemas.TensorRow, err error) {
	root, err := e.unpack("B00_golden_mix", e.folder)
	if err != nil {
		return nil, err
	}
	messages, err := readDump(ctx, filepath.Join(root, "dump", "step0"))
	if err != nil {
		return nil, err
	}
	for _, m := range messages {
		if m.Header.Kind == "tensor" {
			if rows, err = schemas.AppendRows(rows, m); err != nil {
				return nil, err
			}
		}
	}
	return slices.Clip(rows), nil
}

func (e *env) publishRandom(ctx context.Context, s *server) error {
	publisher, err := s.publisher()
	if err != nil {
		return err
	}
	g := newGenerator(schemas.RunID("random"), time.Now().UnixNano())
	b := schemas.NewBuilder[schemas.TensorRow]()
	for batch := range uint64(e.pick(250, 50)) {
		m, err := g.message(b, batch, messageRows)
		if err != nil {
			return err
		}
		if err := publisher.Publish(ctx, m); err != nil {
			return err
		}
	}
	return publisher.Flush(ctx)
}

func folderSize(folder string) int64 {
	var size int64
	_ = filepath.WalkDir(folder, func(_ string, entry os.DirEntry, err error) error { // what is gone is 0 bytes
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		if err == nil {
			size += info.Size()
		}
		return err
	})
	return size
}
