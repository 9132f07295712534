package compare

import (
	"context"
	"testing"

	"github.com/tensortap/tensortap/analysis/judge"
	"github.com/tensortap/tensortap/analysis/pair"
	"github.com/tensortap/tensortap/analysis/result"
	"github.com/tensortap/tensortap/analysis/rows"
)

// TestAQuestionNamesABoundedNumberOfPlaces recalls a long run that differs a little at each step.
func TestAQuestionNamesABoundedNumberOfPlaces(t *testing.T) {
	t.Parallel()
	const steps = 5_000
	options := result.DefaultOptions()
	options.Limit = steps
	collected := result.New(options, &rows.Run{}, &rows.Run{}, rows.NewDefinitions())
	r := Recalled{}
	for step := range uint32(steps) {
		r.Places = append(r.Places, result.Known{At: pair.Step{Step: step}, Summary: result.StepSummary{Step: step, DifferingCount: 1}})
	}
	asked := 0
	r.Verdicts = func(_ context.Context, places []result.Known) (map[rows.Place][]judge.Judged, error) {
		if len(places) > placesAtOnce {
			t.Errorf("%d places in one question, want %d at most", len(places), placesAtOnce)
		}
		judged := map[rows.Place][]judge.Judged{}
		for i := range places {
			asked++
			judged[placeOf(places[i].At)] = []judge.Judged{{Pair: judge.Pair{InProblem: true}, Verdict: judge.Verdict{Differs: true}}}
		}
		return judged, nil
	}
	if err := r.collect(t.Context(), collected); err != nil {
		t.Fatal(err)
	}
	if got := collected.Finish(result.Finishing{}); asked != steps || len(got.Divergence) != steps || len(got.Summary) != steps {
		t.Errorf("%d places asked for, %d rows, %d steps; want %d of each", asked, len(got.Divergence), len(got.Summary), steps)
	}
}
