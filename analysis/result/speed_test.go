package result_test

import (
	"fmt"
	"testing"

	"github.com/tensortap/tensortap/analysis/judge"
	"github.com/tensortap/tensortap/analysis/result"
)

// BenchmarkPlace collects places of 5,000 tensors in 1,000 ops; none, or all, differ.
func BenchmarkPlace(b *testing.B) {
	for name, relative := range map[string]float64{"none": 0, "all": 0.5} {
		b.Run(name, func(b *testing.B) {
			m := newModel()
			var judged []judge.Judged
			for op := range 1000 {
				m.ops(fmt.Sprint("op", op), "", "")
				for path := range 5 {
					judged = append(judged, m.both(fmt.Sprint("op", op), "input", fmt.Sprint(path), float64(op*5+path+1), relative))
				}
			}
			collected := result.New(result.DefaultOptions(), m.problem, m.bench, m.definitions)
			b.ResetTimer()
			for step := range b.N {
				collected.Place(m.at(uint32(step)), judged)
			}
			b.ReportMetric(float64(b.N*len(judged))/b.Elapsed().Seconds(), "pairs/s")
		})
	}
}
