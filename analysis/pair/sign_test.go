package pair_test

import (
	"fmt"
	"testing"

	"github.com/tensortap/tensortap/analysis/pair"
	"github.com/tensortap/tensortap/analysis/pair/align"
)

// given makes signatures of ops 1 to n, in one dtype.
func given(n, dtype uint64) map[uint64]pair.Signature {
	ops := map[uint64]pair.Signature{}
	for op := uint64(1); op <= n; op++ {
		ops[op] = pair.Signature{Exact: dtype<<32 | op, Shapes: op}
	}
	return ops
}

func TestSignLeavesDtypesOutWhereRunsDifferInThemAsAWhole(t *testing.T) {
	t.Parallel()
	one := given(10, 1)
	one[3] = pair.Signature{Exact: 2<<32 | 3, Shapes: 3}
	for _, c := range []struct {
		what           string
		problem, bench map[uint64]pair.Signature
		want           [2]uint64 // the signatures of op 3
	}{
		{"equal dtypes", given(10, 1), given(10, 1), [2]uint64{1<<32 | 3, 1<<32 | 3}},
		{"one op of another dtype", one, given(10, 1), [2]uint64{2<<32 | 3, 1<<32 | 3}},
		{"all ops of another dtype", given(10, 2), given(10, 1), [2]uint64{3, 3}},
		{"nothing in common", map[uint64]pair.Signature{3: {Exact: 70, Shapes: 71}}, given(10, 1), [2]uint64{70, 1<<32 | 3}},
		{"the problem without rows", nil, given(10, 1), [2]uint64{}},
		{"the bench without rows", given(10, 1), map[uint64]pair.Signature{}, [2]uint64{}},
		{"neither with rows", nil, nil, [2]uint64{}},
		{"op without rows", given(2, 1), given(10, 1), [2]uint64{0, 1<<32 | 3}},
	} {
		// What was there from another pair has to go.
		problem := &pair.Program{Ops: []align.Op{{ID: 3, Signature: 99}, {ID: 4, Signature: 99}}}
		bench := &pair.Program{Ops: []align.Op{{ID: 3, Signature: 99}}}
		pair.Sign(problem, bench, c.problem, c.bench)
		if got := fmt.Sprint(problem.Ops[0].Signature, bench.Ops[0].Signature); got != fmt.Sprint(c.want[0], c.want[1]) {
			t.Errorf("%s: signatures %s, want %v", c.what, got, c.want)
		}
	}
}
