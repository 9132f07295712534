package compare

import (
	"context"
	"strings"
	"testing"

	"github.com/tensortap/tensortap/analysis/pair"
	"github.com/tensortap/tensortap/analysis/report"
	"github.com/tensortap/tensortap/analysis/result"
	"github.com/tensortap/tensortap/analysis/rows/folders"
	"github.com/tensortap/tensortap/internal/dev/recorded"
	"github.com/tensortap/tensortap/internal/steps"
)

// opened are recorded dumps as runs of their names.
func opened(t *testing.T, names ...string) *folders.Source {
	t.Helper()
	var list []folders.Folder
	for _, name := range names {
		list = append(list, folders.Folder{Name: name, Path: recorded.Unpack(t, name)})
	}
	source, err := folders.Open(t.Context(), list, nil)
	if err != nil {
		t.Fatal(err)
	}
	return source
}

func request(problem string, benches ...string) Request {
	r := DefaultRequest()
	r.Problem, r.Benches = problem, benches
	return r
}

func TestAWrongWeightIsWhereItBegan(t *testing.T) {
	t.Parallel()
	answer, err := Run(t.Context(), opened(t, "B02_weight_mix", "B00_golden_mix"), request("B02_weight_mix", "B00_golden_mix"))
	if err != nil {
		t.Fatal(err)
	}
	if len(answer.Origins) != 1 || answer.Origins[0].Op != "Functional.linear.20.forward" || answer.Origins[0].Parameter != "weight" {
		t.Errorf("origins = %+v, want the weight of Functional.linear.20.forward", answer.Origins)
	}
	if len(answer.Divergence) != 782 || answer.Summary[0].DivergedCount != 782 {
		t.Errorf("%d rows differ, %d counted; want 782 of both", len(answer.Divergence), answer.Summary[0].DivergedCount)
	}
}

func TestARunIsTheSameAsItselfWhateverTheWindows(t *testing.T) {
	t.Parallel()
	answer, err := Run(t.Context(), opened(t, "D_tp_golden"), request("D_tp_golden", "D_tp_golden"))
	if err != nil {
		t.Fatal(err)
	}
	if len(answer.Divergence)+len(answer.Unpaired)+len(answer.Differences) != 0 || len(answer.Summary) == 0 {
		t.Errorf("a run differs from itself: %+v", answer.Summary)
	}
}

func TestStepsAndRanksThatAreNotAskedForAreNotJudged(t *testing.T) {
	t.Parallel()
	source := opened(t, "D_ddp_rank1_weight", "D_ddp_golden")
	r := request("D_ddp_rank1_weight", "D_ddp_golden")
	r.Rank = 1
	answer, err := Run(t.Context(), source, r)
	if err != nil || len(answer.Summary) != 1 || answer.Summary[0].Rank != 1 {
		t.Errorf("rank 1: %+v, %v; want it alone", answer, err)
	}
	r.Rank, r.Steps = -1, steps.Between(steps.Range{First: 7, Last: 9})
	if answer, err = Run(t.Context(), source, r); err != nil || len(answer.Summary) != 0 {
		t.Errorf("steps 7 to 9: %+v, %v; want nothing", answer, err)
	}
	r.Rank = 9
	if _, err = Run(t.Context(), source, r); err == nil || !strings.Contains(err.Error(), "has no rank 9") {
		t.Errorf("rank 9: %v, want an error that names the ranks", err)
	}
}

func TestNothingToCompareWithIsAnError(t *testing.T) {
	t.Parallel()
	source := opened(t, "B00_golden_L0")
	if _, err := Run(t.Context(), source, request("B00_golden_L0")); err == nil {
		t.Error("no bench: no error")
	}
	if _, err := Run(t.Context(), source, request("B00_golden_L0", "nobody")); err == nil || !strings.Contains(err.Error(), "nobody") {
		t.Errorf("an unknown bench: %v, want an error that names it", err)
	}
	ended, stop := context.WithCancel(t.Context())
	stop()
	if _, err := Run(ended, source, request("B00_golden_L0", "B00_golden_L0")); err == nil {
		t.Error("a comparison that was stopped gave an answer")
	}
}

func TestAnAnswerSaysHowItsRunsWereRecorded(t *testing.T) {
	t.Parallel()
	answer, err := Run(t.Context(), opened(t, "B02_weight_mix", "B00_golden_L0"), request("B02_weight_mix", "B00_golden_L0"))
	if err != nil {
		t.Fatal(err)
	}
	var comparison report.Comparison
	answer.Fill(&comparison)
	for i, level := range []string{"mix", "L0"} {
		got := comparison.Recorded[i]
		if got.Source != "msprobe" || got.Level != level || got.Task != "statistics" || len(got.Steps) == 0 {
			t.Errorf("side %d was recorded as %+v, want msprobe, %s, statistics and its steps", i, got, level)
		}
	}
}

func TestAnOpThatOnlyTheBenchHasKeepsItsOwnModule(t *testing.T) {
	t.Parallel()
	const problem, bench = "B00_golden_mix", "B05_extra_op_mix"
	job, err := Open(t.Context(), opened(t, problem, bench), request(problem, bench))
	if err != nil {
		t.Fatal(err)
	}
	modules := map[string]string{}
	_, err = job.Run(t.Context(), Recalled{}, func(at pair.Step, placed *result.Placed) error {
		judged := placed.Judged()
		for i := range judged {
			if j := &judged[i]; at.Step == 0 && !j.InProblem {
				parent, _ := placed.CallOf(j)
				modules[job.Definitions().OpName(j.Own().SiteID)] = job.Definitions().Op(parent).ModulePath
			}
		}
		return nil
	})
	if module := modules["Functional.silu.1.forward"]; err != nil || module != "model.layers.1.mlp" {
		t.Errorf("module %q of %v, %v, want that which called the op in the bench", module, modules, err)
	}
}
