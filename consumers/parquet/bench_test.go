package parquet

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tensortap/tensortap/schemas"
)

const (
	benchBatches = 128
	benchRows    = 4096
)

// statistics are messages of tensor statistics: the same sites at every step,
// with values that are random float32 numbers.
func statistics(tb testing.TB, run uint64) []schemas.Message {
	tb.Helper()
	random := rand.New(rand.NewPCG(1, run))
	sites := make([]schemas.SiteRow, 5000)
	for i := range sites {
		sites[i] = schemas.SiteRow{SiteID: random.Uint64(), OpID: random.Uint64N(200)}
	}
	value := func() float64 { return float64(float32(random.NormFloat64())) }
	builder := schemas.NewBuilder[schemas.TensorRow]()
	messages := make([]schemas.Message, benchBatches)
	for batch := range messages {
		of := schemas.Identity{RunID: run, Rank: 3, Epoch: 77, Batch: uint64(batch)}
		for i := range benchRows {
			n := batch*benchRows + i
			site := sites[n%len(sites)]
			builder.Append(&schemas.TensorRow{
				RunID: of.RunID, Rank: of.Rank, Epoch: of.Epoch, Batch: of.Batch, EventTimeNs: 1_700_000_000_000_000_000 + int64(n)*1000,
				Step: uint32(n / len(sites)), Seq: uint64(n), SiteID: site.SiteID, LayoutID: site.OpID * 0x9e3779b97f4a7c15,
				Measured: 0x3f, ElementCount: site.OpID * 4096,
				ValueMin: value(), ValueMax: value(), ValueMean: value(), ValueL2: value(),
			})
		}
		m, err := builder.Message(of)
		if err != nil {
			tb.Fatal(err)
		}
		messages[batch] = m
	}
	return messages
}

func openForBench(b *testing.B, dir string) *Writer {
	b.Helper()
	cfg := DefaultConfig()
	cfg.Dir = dir
	w, err := New(cfg)
	if err != nil {
		b.Fatal(err)
	}
	if _, err := w.Open(b.Context()); err != nil {
		b.Fatal(err)
	}
	return w
}

// BenchmarkWrite stores 524,288 durable rows per call.
func BenchmarkWrite(b *testing.B) {
	messages := statistics(b, 1)
	w := openForBench(b, b.TempDir())
	b.ReportAllocs()
	var epoch uint64
	var spent time.Duration
	for b.Loop() {
		epoch++
		b.StopTimer() // a message of a new epoch needs new rows: only its first columns differ
		again := withEpoch(b, messages, epoch)
		before := processTime(b)
		b.StartTimer()
		if err := w.Write(b.Context(), again); err != nil {
			b.Fatal(err)
		}
		spent += processTime(b) - before
	}
	s := w.Stats()
	b.ReportMetric(float64(s.Rows)/b.Elapsed().Seconds(), "rows/s")
	b.ReportMetric(float64(s.Rows)/spent.Seconds(), "rows/cpu-s")
	b.ReportMetric(float64(s.Bytes)/float64(s.Rows), "B/row")
	if err := w.Close(); err != nil {
		b.Fatal(err)
	}
}

func withEpoch(b *testing.B, messages []schemas.Message, epoch uint64) []schemas.Message {
	b.Helper()
	builder := schemas.NewBuilder[schemas.TensorRow]()
	again := make([]schemas.Message, len(messages))
	for i, m := range messages {
		rows, err := schemas.DecodeRows[schemas.TensorRow](m)
		if err != nil {
			b.Fatal(err)
		}
		for k := range rows {
			rows[k].Epoch = epoch
			builder.Append(&rows[k])
		}
		of := m.Header.Identity
		of.Epoch = epoch
		if again[i], err = builder.Message(of); err != nil {
			b.Fatal(err)
		}
	}
	return again
}

// BenchmarkOpen opens an archive of 10,000 files.
func BenchmarkOpen(b *testing.B) {
	const files = 10_000
	dir := b.TempDir()
	w := openForBench(b, dir)
	row := schemas.TensorRow{RunID: 1, Epoch: 1}
	builder := schemas.NewBuilder[schemas.TensorRow]()
	var first entry
	for i := range files {
		if i > 0 { // the same file under other names, which is much faster than writing each durably
			e := first
			e.File = fmt.Sprintf("event=tensor/run=%s/%012d.parquet", schemas.FormatID(uint64(i%40)), i+1)
			e.Batches = []entrySpan{{Epoch: id(i), First: uint64(i), Last: uint64(i + 100)}}
			linkEntry(b, w, first, e)
			continue
		}
		builder.Append(&row)
		m, err := builder.Message(schemas.Identity{RunID: 1, Epoch: 1})
		if err != nil {
			b.Fatal(err)
		}
		if err := w.Write(b.Context(), []schemas.Message{m}); err != nil {
			b.Fatal(err)
		}
		lines, err := w.entries()
		if err != nil {
			b.Fatal(err)
		}
		first = lines[0]
	}
	if err := w.Close(); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		w := openForBench(b, dir)
		if err := w.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

func linkEntry(b *testing.B, w *Writer, from, to entry) {
	b.Helper()
	if err := os.MkdirAll(filepath.Dir(w.path(to.File)), 0o700); err != nil {
		b.Fatal(err)
	}
	if err := os.Link(w.path(from.File), w.path(to.File)); err != nil {
		b.Fatal(err)
	}
	if err := w.manifest.add(to); err != nil {
		b.Fatal(err)
	}
}

// processTime is the processor time that the process has used, which other
// work on the machine changes less than the clock.
func processTime(b *testing.B) time.Duration {
	b.Helper()
	var usage unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
