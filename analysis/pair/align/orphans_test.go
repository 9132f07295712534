package align_test

import (
	"testing"

	"github.com/tensortap/tensortap/analysis/pair/align"
)

// without is a program of which the parents are not known from an op on.
func without(ops []align.Op, from int) []align.Op {
	orphans := make([]align.Op, 0, len(ops))
	for i, op := range ops {
		if i >= from {
			op.ParentID = 0
		}
		if !op.Absent {
			orphans = append(orphans, op)
		}
	}
	return orphans
}

func TestOpsPairThoughOneSideDoesNotKnowTheirParents(t *testing.T) {
	t.Parallel()
	golden := readDump(t, "B00_golden_mix").ops
	for what, c := range map[string]struct {
		problem, bench []align.Op
		want           alone
	}{
		"no parents":                         {without(golden, 0), golden, alone{}},
		"no parents in the bench":            {golden, without(golden, 0), alone{}},
		"parents of the first half":          {without(golden, len(golden)/2), golden, alone{}},
		"parents of the first quarter":       {without(golden, len(golden)/4), golden, alone{}},
		"parents of the first ops, in bench": {golden, without(golden, 20), alone{}},
		"parents of all but the last ops":    {without(golden, len(golden)-30), golden, alone{}},
		"no parents, and two extra calls":    {without(readDump(t, "B05_extra_op_mix").ops, 0), golden, alone{problem: 3}},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			rows := align.Programs(c.problem, c.bench)
			checkRows(t, c.problem, c.bench, rows)
			var got alone
			for _, r := range rows {
				switch {
				case r.Problem < 0:
					got.bench++
				case r.Bench < 0:
					got.problem++
				case c.want == alone{} && c.problem[r.Problem].ID != c.bench[r.Bench].ID:
					t.Errorf("%+v is paired with %+v", c.problem[r.Problem], c.bench[r.Bench])
				}
			}
			if got != c.want {
				t.Errorf("alone %+v, want %+v", got, c.want)
			}
		})
	}
}
