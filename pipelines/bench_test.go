package pipelines_test

import (
	"context"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/tensortap/tensortap/pipelines"
	"github.com/tensortap/tensortap/schemas"
)

// null is a sink that stores nothing.
type null struct{}

func (null) Write(context.Context, []schemas.Message) error { return nil }

func tensors(tb testing.TB, id schemas.Identity, rows int) schemas.Message {
	tb.Helper()
	b := schemas.NewBuilder[schemas.TensorRow]()
	for i := range rows {
		b.Append(&schemas.TensorRow{
			RunID: id.RunID, Rank: id.Rank, Epoch: id.Epoch, Batch: id.Batch, EventTimeNs: int64(i),
			SiteID: rand.Uint64(), LayoutID: uint64(i % 50),
		})
	}
	m, err := b.Message(id)
	must(tb, err)
	return m
}

// BenchmarkDeliver publishes to a stream and delivers to a sink that does
// nothing, at the same time. With sync, the server syncs each message.
func BenchmarkDeliver(b *testing.B) {
	b.Run("sync/rows=8192", func(b *testing.B) { benchmarkDeliver(b, false, 8192, 200) })
	b.Run("sync/rows=16384", func(b *testing.B) { benchmarkDeliver(b, false, 16384, 100) })
	b.Run("sync/rows=1", func(b *testing.B) { benchmarkDeliver(b, false, 1, 5_000) })
	b.Run("lazy/rows=8192", func(b *testing.B) { benchmarkDeliver(b, true, 8192, 200) })
	b.Run("lazy/rows=1", func(b *testing.B) { benchmarkDeliver(b, true, 1, 20_000) })
}

func benchmarkDeliver(b *testing.B, lazy bool, rows, messages int) {
	b.Helper()
	s, cfg := connect(b, &stream{dir: b.TempDir(), port: -1, lazy: lazy}), testConfig(b)
	cfg.Stream.AckWait = time.Minute
	cfg.Deliver.BatchAge = pipelines.DefaultConfig().Deliver.BatchAge
	must(b, pipelines.Prepare(b.Context(), s.js, cfg))
	_, stop := deliver(b, s, cfg, null{})
	p := newPublisher(b, s, cfg)
	batch := 0
	for b.Loop() {
		b.StopTimer()
		var prepared list
		for range messages {
			prepared = append(prepared, tensors(b, identity(batch), rows))
			batch++
		}
		b.StartTimer()
		must(b, publishAll(b.Context(), p, prepared))
		must(b, pipelines.WaitStored(b.Context(), s.js, p.Metrics().Snapshot().LastSequence, time.Millisecond, "store"))
	}
	b.ReportMetric(float64(batch*rows)/b.Elapsed().Seconds(), "rows/s")
	b.ReportMetric(float64(batch)/b.Elapsed().Seconds(), "messages/s")
	must(b, stop())
}
