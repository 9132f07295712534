package store_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/tensortap/tensortap/analysis/compare"
	"github.com/tensortap/tensortap/analysis/explain"
	"github.com/tensortap/tensortap/analysis/report"
	"github.com/tensortap/tensortap/analysis/rows"
	"github.com/tensortap/tensortap/analysis/rows/store"
)

// whole is a source that reads all tensors of a place, whoever asks for some.
type whole struct{ rows.Source }

// An op is explained by its own tensors and those of the ops before it, with the answer that all tensors give.
func TestAnOpIsExplainedByItsTensorsAsByAll(t *testing.T) {
	t.Parallel()
	d := startDatabase(t)
	d.publish(t, "B00_golden_mix", "good", 1, 0)
	d.publish(t, "B02_weight_mix", "weight", 1, 0)
	d.publish(t, "B06_extra_op_and_weight_mix", "extra", 1, 0) // other programs, which are aligned
	d.publish(t, "D_tp_rank1_nan", "two ranks", 1, 0)
	for _, sides := range [][2]string{{"weight", "good"}, {"extra", "good"}, {"good", "extra"}, {"two ranks", "good"}} {
		some, all := d.open(t, store.Open(d.Conn), sides), d.open(t, whole{store.Open(d.Conn)}, sides)
		if !some.Selects() || all.Selects() {
			t.Fatal("want one job that selects, and one that does not")
		}
		for _, op := range explained(all) {
			for _, before := range []int{3, 400} {
				for _, place := range []int64{-1, 0} { // of rank and step: the first that differs, and one that is given
					if got, want := told(t, some, op, place, before), told(t, all, op, place, before); got != want {
						t.Fatalf("%v, op %s, %d before it:\n%s\nby all tensors\n%s", sides, op, before, got, want)
					}
				}
			}
		}
	}
}

func (d *database) open(tb testing.TB, source rows.Source, sides [2]string) *compare.Job {
	tb.Helper()
	request := compare.DefaultRequest()
	request.Problem, request.Benches = sides[0], []string{sides[1]}
	job, err := compare.Open(tb.Context(), source, request)
	if err != nil {
		tb.Fatal(err)
	}
	return job
}

// explained are some ops of all programs of both runs.
func explained(job *compare.Job) []string {
	names := map[string]bool{}
	for _, program := range job.Definitions().Programs {
		for i := range program {
			names[job.Definitions().Op(program[i].OpID).Name] = true
		}
	}
	const stride = 211
	var some []string
	for i, name := range slices.Sorted(maps.Keys(names)) {
		if i%stride == 0 && name != "" {
			some = append(some, name)
		}
	}
	return some
}

// told is all that an answer says, or why there is none.
func told(tb testing.TB, job *compare.Job, op string, place int64, before int) string {
	tb.Helper()
	answer, err := explain.Run(tb.Context(), job, explain.Request{Name: op, Rank: place, Step: place, Before: before})
	if err != nil {
		return fmt.Sprint("error: ", err)
	}
	var explanation report.Explanation
	answer.Fill(&explanation)
	text, err := json.Marshal(explanation.Object())
	if err != nil {
		tb.Fatal(err)
	}
	return string(text)
}
