package report

import (
	"math"
	"slices"
	"testing"
)

func TestOfEachRankThatRaisedTheLastOpIsNamed(t *testing.T) {
	t.Parallel()
	failures := Table{Columns: []string{"run", "rank", "step", "op", "module", "type", "message"}}
	add := func(values ...string) {
		var row []Value
		for _, v := range values {
			row = append(row, Value{Exact: v, Number: math.NaN()})
		}
		failures.Rows = append(failures.Rows, row)
	}
	if got := FailureLines(failures); got != nil {
		t.Errorf("of no failures: %q", got)
	}
	add("bad", "0", "3", "a", "", "KeyError", "caught")
	add("bad", "0", "5", "b", "layers.1", "ValueError", "x")
	add("bad", "1", "5", "", "", "RuntimeError", "y")
	add("good", "1", "5", "c", "", "RuntimeError", "z")
	want := []string{
		"run bad rank 0: step 5, in op b of module layers.1: ValueError: x", "run bad rank 1: step 5, in no op that is known: RuntimeError: y",
		"run good rank 1: step 5, in op c: RuntimeError: z",
	}
	if got := FailureLines(failures); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	for _, rank := range []string{"2", "3", "4"} {
		add("good", rank, "5", "c", "", "RuntimeError", "z")
	}
	if got := FailureLines(failures); len(got) != 5 || got[4] != "and 2 further ranks" {
		t.Errorf("of six ranks: %q", got)
	}
}
