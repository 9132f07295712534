package judge

import (
	"fmt"
	"testing"

	"github.com/tensortap/tensortap/analysis/rows"
	"github.com/tensortap/tensortap/schemas"
)

// Sites of a large run: four for each op.
const benchedSites = 150_000

func BenchmarkJudge(b *testing.B) {
	for name, buckets := range map[string]int{"statistics": 0, "sketch": 64} {
		b.Run(name, func(b *testing.B) {
			rules, pairs := benched(b, buckets)
			settled := Setting{CommonStep: true}
			for i := range 3 * len(pairs) { // until rules are made and settled, as after the first steps of a run
				rules.Judge(&pairs[i%len(pairs)], settled, nil)
			}
			b.ReportAllocs()
			b.ResetTimer()
			for i := range b.N {
				if v := rules.Judge(&pairs[i%len(pairs)], settled, nil); v.Differs {
					b.Fatalf("pair %d: %+v", i, v)
				}
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "pairs/s")
		})
	}
}

// BenchmarkNew is the price of a comparison before its first pair, with the rules of every site.
func BenchmarkNew(b *testing.B) {
	rules, pairs := benched(b, 0)
	run := &rows.Run{MainDtype: "torch.float32", Steps: []schemas.StepRow{{ProgramID: program}}}
	for b.Loop() {
		made, err := New(rules.config, run, run, rules.definitions)
		if err != nil {
			b.Fatal(err)
		}
		for i := range pairs {
			made.site(pairs[i].Problem.SiteID)
		}
	}
}

func benched(b *testing.B, buckets int) (*Rules, []Pair) {
	b.Helper()
	var pairs []Pair
	cfg := Config{Tolerance: -1, Rules: []ToleranceRule{{Op: "*.layers.3.*", Dtype: "*", Tolerance: 0.1}, {Op: "Torch.nothing*", Dtype: "*", Tolerance: 0.1}}}
	rules := rulesOf(b, cfg, func(d *rows.Definitions, _, _ *rows.Run) {
		for i := range benchedSites / 4 {
			op := &schemas.OpRow{Name: fmt.Sprintf("Torch.linear.%d.forward", i), LayerIndex: int32(i % 32), ClassOrAPI: fmt.Sprint("api", i%100)}
			placeOp(d, op, 0)
			for path := range 4 {
				site := schemas.SiteID(op.OpID, "output", fmt.Sprint(path))
				d.Sites[site] = schemas.SiteRow{SiteID: site, OpID: op.OpID, Role: "output", Path: fmt.Sprint(path)}
				o := tensor(float32Layout, func(o *rows.Observation) { o.SiteID, o.Sketch = site, make([]float32, buckets) })
				pairs = append(pairs, *paired(o, o))
			}
		}
	})
	return rules, pairs
}
