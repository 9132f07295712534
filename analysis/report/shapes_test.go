package report

import "testing"

func TestASentenceSaysWhatSameShapesRestOn(t *testing.T) {
	t.Parallel()
	columns := []string{"rank_count", "step_count", "signature_count", "problem_count", "bench_count"}
	for want, counts := range map[string][]float64{
		"nothing to compare: runs bad·[31m and good have no step in common that was recorded at level aten":                                                                      {0, 0, 0, 0, 0},
		"all shapes are the same: run bad·[31m called 1 signature of op, dtypes, shapes and strides as often as run good in each of 1 step of 1 rank, 1 calls in all":            {1, 1, 1, 1, 1},
		"all shapes are the same: run bad·[31m called 37 signatures of op, dtypes, shapes and strides as often as run good in each of 100 steps of 2 ranks, 12,000 calls in all": {2, 100, 37, 12000, 12000},
	} {
		row := make([]Value, len(columns))
		for i, count := range counts {
			row[i] = Value{Number: count}
		}
		if got := SameShapes("bad\x1b[31m", "good", Table{Columns: columns, Rows: [][]Value{row}}); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}
