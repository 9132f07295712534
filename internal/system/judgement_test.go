package system

import (
	"testing"

	"github.com/tensortap/tensortap/analysis/mapping"
	"github.com/tensortap/tensortap/internal/steps"
)

func TestAQuestionNamesWhatChangesItsAnswer(t *testing.T) {
	t.Parallel()
	plain := DefaultCompareRequest()
	plain.Problem, plain.Benches = "bad", []string{"good"}
	for name, c := range map[string]struct {
		alter func(*CompareRequest)
		same  bool
	}{
		"other names":                {func(r *CompareRequest) { r.Problem, r.Benches = "worse", []string{"better"} }, true},
		"fewer rows shown":           {func(r *CompareRequest) { r.Limit = 3 }, true},
		"as many rows as are stored": {func(r *CompareRequest) { r.Limit = rememberedRows }, true},
		"more rows than are stored":  {func(r *CompareRequest) { r.Limit = rememberedRows + 1 }, false},
		"tolerance":                  {func(r *CompareRequest) { r.Tolerance.Number = 0.5 }, false},
		"rules":                      {func(r *CompareRequest) { r.Tolerance.Rules = []ToleranceRule{{"*", "*", 0.5}} }, false},
		"rank":                       {func(r *CompareRequest) { r.Rank = 1 }, false},
		"steps":                      {func(r *CompareRequest) { r.Steps = steps.Between(steps.Range{Last: 7}) }, false},
		"offset":                     {func(r *CompareRequest) { r.StepOffset = 1 }, false},
		"strict":                     {func(r *CompareRequest) { r.Strict = true }, false},
		"map":                        {func(r *CompareRequest) { r.Map = &mapping.Map{File: "fused.yaml"} }, false},
		"payload":                    {func(r *CompareRequest) { r.Payload = true }, false},
	} {
		asked := plain
		c.alter(&asked)
		if got := asked.question(); (got == plain.question()) != c.same {
			t.Errorf("%s: question %q, without that %q; want the same: %t", name, got, plain.question(), c.same)
		}
	}
}
