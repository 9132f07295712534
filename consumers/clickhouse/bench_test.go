package clickhouse_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/tensortap/tensortap/consumers/clickhouse"
	"github.com/tensortap/tensortap/schemas"
)

// BenchmarkWrite stores 250,000 rows a call in messages of 8,192, as the
// delivery loop does at full load.
func BenchmarkWrite(b *testing.B) {
	s := startServer(b)
	for _, inserts := range []int{1, 2} {
		b.Run(fmt.Sprintf("inserts=%d", inserts), func(b *testing.B) {
			s.empty(b)
			cfg := clickhouse.DefaultConfig()
			cfg.InsertRows, cfg.Inserts = cfg.InsertRows*cfg.Inserts/inserts, inserts
			benchmarkWrite(b, s, cfg)
		})
	}
}

func benchmarkWrite(b *testing.B, s *server, cfg clickhouse.Config) {
	b.Helper()
	const messages, rows = 31, 8192
	w, err := clickhouse.New(cfg, s.conn)
	if err != nil {
		b.Fatal(err)
	}
	call := uint64(0)
	for b.Loop() {
		b.StopTimer()
		batch := tensorMessages(b, call*messages, messages, rows)
		call++
		b.StartTimer()
		mustStore(b, w, batch)
	}
	b.ReportMetric(float64(b.N)*messages*rows/b.Elapsed().Seconds()/1e6, "Mrows/s")
}

// tensorMessages makes messages of a few hundred sites of a rank, step after
// step, with random statistics that began as float32.
func tensorMessages(tb testing.TB, first uint64, count, rows int) []schemas.Message {
	tb.Helper()
	const sites, second = 3000, 1_000_000_000
	r := rand.New(rand.NewPCG(first, 1))
	builder := schemas.NewBuilder[schemas.TensorRow]()
	var messages []schemas.Message
	for i := range uint64(count) {
		id := schemas.Identity{RunID: 77, Rank: 3, Epoch: 12345, Batch: first + i}
		for k := range uint64(rows) {
			seq := id.Batch*uint64(rows) + k
			value := func() float64 { return float64(float32(r.NormFloat64())) }
			builder.Append(&schemas.TensorRow{
				RunID: id.RunID, Rank: id.Rank, Epoch: id.Epoch, Batch: id.Batch, EventTimeNs: 1_700_000_000*second + int64(seq%86400)*1000,
				Step: uint32(seq / sites), Seq: seq, SiteID: (seq % sites) * 0x9E3779B97F4A7C15, LayoutID: seq % sites % 50 * 0x9E3779B97F4A7C15,
				Measured: 0x7ff, ElementCount: 1 << 20, ValueMin: value(), ValueMax: value(), ValueMean: value(), ValueM2: value(), ValueL2: value(), ValueL1: value(),
			})
		}
		m, err := builder.Message(id)
		if err != nil {
			tb.Fatal(err)
		}
		messages = append(messages, m)
	}
	return messages
}

// BenchmarkRecall is the first look at a producer in a table of 2,500 batches and 20 million rows.
func BenchmarkRecall(b *testing.B) {
	s := startServer(b)
	s.exec(b, fmt.Sprintf(`INSERT INTO tap_store.tensor (run_id, rank, epoch, batch, event_time_ns, site_id)
		SELECT 7, intDiv(number, 8000) %% 8, 9, intDiv(number, 64000), 1700000000000000000, sipHash64(number) FROM numbers(%d)`, 20_000_000))
	one := tensorMessages(b, 1, 1, 1)[0]
	for b.Loop() {
		w, err := clickhouse.New(clickhouse.DefaultConfig(), s.conn)
		if err != nil {
			b.Fatal(err)
		}
		one.Header.Identity = schemas.Identity{RunID: 7, Rank: 5, Epoch: 9, Batch: 17}
		one.Header.Rows = 8000
		mustStore(b, w, []schemas.Message{one})
	}
}
