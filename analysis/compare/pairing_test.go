package compare

import (
	"testing"
)

func TestPairingTellsEachPairOfProgramsOnce(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		problem, bench string
		ops, alone     int
		count          uint64
	}{
		{"B05_extra_op_mix", "B00_golden_mix", 620, 3, 1},
		{"B02_weight_mix", "B00_golden_mix", 617, 0, 1},
		{"D_ddp_rank1_weight", "D_ddp_golden", 616, 0, 2},
	} {
		job, err := Open(t.Context(), opened(t, c.problem, c.bench), request(c.problem, c.bench))
		if err != nil {
			t.Fatal(err)
		}
		alone := 0
		paired := job.Pairing()
		for i := range paired {
			p := &paired[i]
			if p.Alone() {
				alone++
			}
			if p.StepCount != c.count || p.ProblemModule != p.BenchModule && !p.Alone() || p.Reason == "" || p.Line != "" || int(p.Position) != i {
				t.Errorf("%s: row %d is %+v", c.problem, i, p)
				break
			}
		}
		if len(paired) != c.ops || alone != c.alone {
			t.Errorf("%s: %d ops, %d alone; want %d, %d", c.problem, len(paired), alone, c.ops, c.alone)
		}
	}
}
