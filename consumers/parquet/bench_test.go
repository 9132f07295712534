package parquet

import (
	"bytes"
	"math/rand/v2"
	"testing"

	pq "github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress/zstd"

	"github.com/tensortap/tensortap/schemas"
)

func benchMessages(tb testing.TB, n, rows int) []schemas.Message {
	tb.Helper()
	b := schemas.NewBuilder[schemas.TensorRow]()
	r := rand.New(rand.NewPCG(1, 2))
	sites := make([]uint64, 5000)
	for i := range sites {
		sites[i] = r.Uint64()
	}
	layouts := make([]uint64, 200)
	for i := range layouts {
		layouts[i] = r.Uint64()
	}
	of := make([]int, len(sites))
	for i := range of {
		of[i] = r.IntN(200)
	}
	var out []schemas.Message
	k := 0
	run := schemas.RunID("bench")
	for m := range n {
		for range rows {
			s := k % len(sites)
			f := func() float64 { return float64(float32(r.NormFloat64())) }
			b.Append(&schemas.TensorRow{
				RunID: run, Rank: 3, Epoch: 77777, Batch: uint64(m), EventTimeNs: 1700000000e9 + int64(k)*1000,
				Step: uint32(k / len(sites)), Seq: uint64(k), SiteID: sites[s], LayoutID: layouts[of[s]], Measured: 0x3f, ElementCount: uint64(of[s] * 4096),
				ValueMin: f(), ValueMax: f(), ValueMean: f(), ValueL2: f(),
			})
			k++
		}
		msg, err := b.Message(schemas.Identity{RunID: run, Rank: 3, Epoch: 77777, Batch: uint64(m)})
		if err != nil {
			tb.Fatal(err)
		}
		out = append(out, msg)
	}
	return out
}

func BenchmarkGeneric(b *testing.B) {
	messages := benchMessages(b, 128, 4096)
	var out bytes.Buffer
	var rows []schemas.TensorRow
	for b.Loop() {
		out.Reset()
		w := pq.NewGenericWriter[schemas.TensorRow](&out, pq.PageBufferSize(512<<10), pq.DataPageVersion(2))
		for _, m := range messages {
			rows = rows[:0]
			var err error
			if rows, err = schemas.AppendRows[schemas.TensorRow](rows, m); err != nil {
				b.Fatal(err)
			}
			if _, err := w.Write(rows); err != nil {
				b.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			b.Fatal(err)
		}
	}
	report(b, out.Len())
}

func report(b *testing.B, n int) {
	const rows = 128 * 4096
	b.ReportMetric(float64(b.N)*rows/b.Elapsed().Seconds()/1e6, "Mrows/s")
	b.ReportMetric(float64(n)/rows, "B/row")
}

func BenchmarkDecodeOnly(b *testing.B) {
	messages := benchMessages(b, 128, 4096)
	for b.Loop() {
		for _, m := range messages {
			r, err := m.Record()
			if err != nil {
				b.Fatal(err)
			}
			_ = r
		}
	}
	report(b, 0)
}

func BenchmarkColumns(b *testing.B) {
	messages := benchMessages(b, 128, 4096)
	for _, level := range []zstd.Level{zstd.SpeedFastest, zstd.SpeedDefault} {
		b.Run(level.String(), func(b *testing.B) {
			var out bytes.Buffer
			codec := &zstd.Codec{Level: level}
			schema := layout(schemas.Tensor(), codec)
			c := newColumns()
			for b.Loop() {
				out.Reset()
				w := pq.NewGenericWriter[any](&out, schema, pq.PageBufferSize(512<<10), pq.DataPageVersion(2))
				for _, m := range messages {
					r, err := m.Record()
					if err != nil {
						b.Fatal(err)
					}
					if err := c.write(w.ColumnWriters(), r); err != nil {
						b.Fatal(err)
					}
				}
				if err := w.Close(); err != nil {
					b.Fatal(err)
				}
			}
			report(b, out.Len())
		})
	}
}
