package collector

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/tensortap/tensortap/e2e/internal/program"
	"github.com/tensortap/tensortap/e2e/internal/torch"
)

// TestRunsOfTwoBudgetsAreComparedOnTheStepsOfBoth holds whatever steps a machine has time to record.
func TestRunsOfTwoBudgetsAreComparedOnTheStepsOfBoth(t *testing.T) {
	t.Parallel()
	python := torch.Python(t)
	const steps = 200
	u := program.Shared(t)
	s := u.Setting
	recorded := map[string]map[int]bool{}
	for run, budget := range map[string]string{"less": "0.01%", "more": "90%", "whole": ""} {
		command := []string{"run", "--run", run, "--", python, "testdata/plain_steps.py", fmt.Sprint(steps), "0.01"}
		if budget != "" {
			command = append([]string{"run", "--budget", budget}, command[1:]...)
		}
		if out := program.Run(t, s, command...); out.Status != 0 {
			t.Fatalf("%q: %v", command, out)
		}
		u.Settle(t)
		recorded[run] = recordedSteps(t, s, run)
		requireLeftOutIsSaid(t, s, run, steps-len(recorded[run]))
	}
	if len(recorded["more"]) < 2 || len(recorded["less"]) != 1 || len(recorded["whole"]) != steps {
		t.Errorf("recorded steps: %v", recorded)
	}
	for _, pair := range [][2]string{{"less", "more"}, {"more", "less"}, {"more", "whole"}, {"whole", "whole"}} {
		requireComparedOnCommonSteps(t, s, pair[0], pair[1], recorded)
	}
}

func recordedSteps(t *testing.T, s program.Setting, run string) map[int]bool {
	t.Helper()
	out := program.Run(t, s, "query", fmt.Sprintf("SELECT groupUniqArray(step) AS steps FROM tap.steps WHERE run_id = xxh3('%s' || char(31))", run), "--output", "json")
	var said struct{ Rows []struct{ Steps []int } }
	if err := json.Unmarshal([]byte(out.Stdout), &said); err != nil || len(said.Rows) != 1 {
		t.Fatalf("steps of %s: %v: %v", run, err, out)
	}
	found := map[int]bool{}
	for _, step := range said.Rows[0].Steps {
		found[step] = true
	}
	return found
}

func requireLeftOutIsSaid(t *testing.T, s program.Setting, run string, left int) {
	t.Helper()
	out := program.Run(t, s, "report", "completeness", "--run", run)
	if said := fmt.Sprintf("beyond the budget %d", left); strings.Contains(out.Stdout, said) != (left > 0) {
		t.Errorf("completeness of %s, which left out %d steps: %v", run, left, out)
	}
}

func requireComparedOnCommonSteps(t *testing.T, s program.Setting, problem, bench string, recorded map[string]map[int]bool) {
	t.Helper()
	out := program.Run(t, s, "compare", problem, bench, "--output", "json")
	var said struct {
		Verdict string
		LeftOut struct{ Problem, Bench int } `json:"left_out"`
		Summary []struct{ Step int }
	}
	if err := json.Unmarshal([]byte(out.Stdout), &said); err != nil {
		t.Fatalf("%v: %v", err, out)
	}
	common := 0
	for step := range recorded[problem] {
		if recorded[bench][step] {
			common++
		}
	}
	for _, row := range said.Summary {
		if !recorded[problem][row.Step] || !recorded[bench][row.Step] {
			t.Errorf("%s against %s compares step %d, which only one has", problem, bench, row.Step)
		}
	}
	ofProblem, ofBench := len(recorded[bench])-common, len(recorded[problem])-common
	if said.Verdict != "same" || len(said.Summary) != common || said.LeftOut.Problem != ofProblem || said.LeftOut.Bench != ofBench {
		t.Errorf("%s against %s: verdict %s of %d steps, left out %+v; want same of %d, %d and %d",
			problem, bench, said.Verdict, len(said.Summary), said.LeftOut, common, ofProblem, ofBench)
	}
	text := program.Run(t, s, "compare", problem, bench)
	for run, left := range map[string]int{problem: ofProblem, bench: ofBench} {
		if words := fmt.Sprintf("run %s left out %d", run, left); text.Status != 0 || strings.Contains(text.Stdout, words) != (left > 0) {
			t.Errorf("%s against %s lacks %q: %v", problem, bench, words, text)
		}
	}
}

// TestALossThatIsNotFiniteIsFoundInAStepThatTheBudgetLeftOut needs no luck: the budget has room for the first step alone.
func TestALossThatIsNotFiniteIsFoundInAStepThatTheBudgetLeftOut(t *testing.T) {
	t.Parallel()
	python := torch.Python(t)
	u := program.Shared(t)
	s := u.Setting
	for run, bad := range map[string]string{"finite losses": "-1", "a loss of NaN": "17"} {
		command := []string{"run", "--run", run, "--budget", "0.01%", "--", python, "testdata/plain_steps.py", "40", "0", bad}
		if out := program.Run(t, s, command...); out.Status != 0 {
			t.Fatalf("%q: %v", command, out)
		}
	}
	u.Settle(t)
	recorded := recordedSteps(t, s, "a loss of NaN")
	for step := range 40 {
		if want := step == 0 || step == 17 || step == 18; recorded[step] != want {
			t.Errorf("step %d is recorded: %v, want %v", step, !want, want)
		}
	}
	for _, c := range []struct {
		args   []string
		status int
		want   string
	}{
		{[]string{"overflow", "a loss of NaN"}, 1, "step 17, rank 0, op Loss.0.debug"},
		{[]string{"report", "unseen", "--run", "a loss of NaN"}, 0, "only the loss"},
		{[]string{"compare", "a loss of NaN", "finite losses"}, 2, "hold NaN or infinity"},
	} {
		if out := program.Run(t, s, c.args...); out.Status != c.status || !strings.Contains(out.Stdout, c.want) {
			t.Errorf("%q: status %d, want %d and %q: %v", c.args, out.Status, c.status, c.want, out)
		}
	}
}
