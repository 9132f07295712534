package compare

import (
	"testing"

	"github.com/tensortap/tensortap/analysis/pair"
	"github.com/tensortap/tensortap/analysis/rows"
)

func TestWindowsHoldNoMoreThanTheyMayUnlessOneStepDoes(t *testing.T) {
	t.Parallel()
	weight := map[uint32]uint64{0: mostWindowRows / 2, 1: mostWindowRows / 2, 2: 1, 3: 2 * mostWindowRows, 4: 0}
	var steps []pair.Step
	for step := range uint32(len(weight)) {
		steps = append(steps, pair.Step{Step: step})
	}
	var got [][]uint32
	for _, window := range windows(steps, func(s pair.Step) uint64 { return weight[s.Step] }) {
		var numbers []uint32
		for _, s := range window {
			numbers = append(numbers, s.Step)
		}
		got = append(got, numbers)
	}
	want := [][]uint32{{0, 1}, {2}, {3}, {4}}
	if len(got) != len(want) {
		t.Fatalf("windows = %v, want %v", got, want)
	}
	for i := range want {
		if len(got[i]) != len(want[i]) || got[i][0] != want[i][0] {
			t.Errorf("windows = %v, want %v", got, want)
		}
	}
	if empty := windows[pair.Step](nil, nil); len(empty) != 0 {
		t.Errorf("windows of no steps = %v, want none", empty)
	}
}

func TestAPlaceOfTheBenchIsReadOnceForSeveralOfTheProblem(t *testing.T) {
	t.Parallel()
	problem, bench := places([]pair.Step{
		{Rank: 0, InProblem: true, InBench: true, BenchRank: 0},
		{Rank: 1, InProblem: true, InBench: true, BenchRank: 0},
		{Rank: 2, InProblem: true, BenchRank: 9},
		{Rank: 3, InBench: true, BenchRank: 3},
	})
	if len(problem) != 3 || len(bench) != 2 || bench[1] != (rows.Place{Rank: 3}) {
		t.Errorf("places = %v and %v, want ranks 0, 1, 2 and 0, 3", problem, bench)
	}
}
