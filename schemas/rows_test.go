package schemas

import (
	"math"
	"testing"
)

func TestTensorRowsSurviveTheRoundTrip(t *testing.T) {
	t.Parallel()
	b := NewBuilder[TensorRow]()
	id := Identity{RunID: 1 << 63, Rank: 3, Epoch: math.MaxUint64, Batch: 7}
	row := TensorRow{RunID: id.RunID, Rank: 3, Epoch: id.Epoch, Batch: 7, EventTimeNs: -5, ValueMin: math.Inf(-1), ValueMax: math.NaN(), ValueMean: math.Copysign(0, -1), Sketch: []float32{1, 2}}
	b.Append(&row)
	m, err := b.Message(id)
	if err != nil {
		t.Fatal(err)
	}
	back, err := ParseMessage(m.Subject(), m.NATSHeader(), m.Data, 9)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := DecodeRows[TensorRow](back)
	if err != nil {
		t.Fatal(err)
	}
	if !math.IsNaN(rows[0].ValueMax) || !math.Signbit(rows[0].ValueMean) || rows[0].Sketch[1] != 2 || rows[0].RunID != 1<<63 {
		t.Fatalf("got %+v", rows[0])
	}
}

func BenchmarkEncode(b *testing.B) {
	bld := NewBuilder[TensorRow]()
	row := TensorRow{RunID: 1, Epoch: 2}
	for b.Loop() {
		for i := range 8192 {
			row.Seq, row.ValueMax = uint64(i), float64(i)*1.37
			bld.Append(&row)
		}
		if _, err := bld.Message(Identity{RunID: 1, Epoch: 2}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)*8192/b.Elapsed().Seconds()/1e6, "Mrows/s")
}
