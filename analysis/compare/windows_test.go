package compare

import (
	"testing"

	"github.com/tensortap/tensortap/analysis/pair"
	"github.com/tensortap/tensortap/analysis/rows"
)

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
