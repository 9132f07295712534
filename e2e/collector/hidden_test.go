package collector

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/tensortap/tensortap/e2e/internal/program"
	"github.com/tensortap/tensortap/e2e/internal/torch"
)

// hiddenPart is one of a side of a comparison.
type hiddenPart struct {
	Reason   string `json:"reason"`
	Subject  string `json:"subject"`
	Ranks    int    `json:"rank_count"`
	Steps    int    `json:"step_count"`
	Recorded int    `json:"recorded_step_count"`
}

// TestWhatCompiledCodeHidesIsSaid has a fault inside a compiled part: run says at its begin and at its end that no hook
// sees it, and compare how much of that there is, and the flag that shows it.
func TestWhatCompiledCodeHidesIsSaid(t *testing.T) {
	t.Parallel()
	python := torch.Python(t)
	up := program.StartUp(t, t.TempDir())
	wrong := up.Setting
	wrong.Env = append([]string{"WRONG=1"}, wrong.Env...)
	for _, c := range []struct {
		at    program.Setting
		args  []string
		wants []string // none where nothing is hidden
	}{
		{up.Setting, []string{"good"}, []string{"rank 0: 1 runs as compiled code", "run: hidden: ", "in 3 of 3 steps", "--eager", "report unseen --run good"}},
		{wrong, []string{"bad"}, []string{"rank 0: 1 runs as compiled code", "run: hidden: ", "in 3 of 3 steps", "--eager", "report unseen --run bad"}},
		{wrong, []string{"eager", "--eager"}, nil},
	} {
		out := program.Run(t, c.at, slices.Concat([]string{"run", "--run"}, c.args, []string{"--", python, "testdata/compiled_blocks.py"})...)
		for _, want := range c.wants {
			if !strings.Contains(out.Stderr, want) {
				t.Errorf("run %q does not say %q: %v", c.args, want, out)
			}
		}
		if n := strings.Count(out.Stderr, "runs as compiled code"); out.Status != 0 || n != min(len(c.wants), 1) {
			t.Errorf("run %q: that is said %d times: %v", c.args, n, out)
		}
	}
	part := hiddenPart{Reason: "compiled", Subject: "1", Ranks: 1, Steps: 3, Recorded: 3}
	for bench, want := range map[string]struct {
		verdict string
		hidden  []hiddenPart
	}{"good": {"differs", []hiddenPart{part}}, "eager": {"same", nil}} {
		out := program.Run(t, up.Setting, "compare", "bad", bench, "--output", "json")
		var answer struct {
			Verdict string `json:"verdict"`
			Hidden  struct {
				Problem []hiddenPart `json:"problem"`
				Bench   []hiddenPart `json:"bench"`
			} `json:"hidden"`
			Next []string `json:"next"`
		}
		if err := json.Unmarshal([]byte(out.Stdout), &answer); err != nil {
			t.Fatalf("%v: %v", err, out)
		}
		if answer.Verdict != want.verdict || !slices.Equal(answer.Hidden.Problem, []hiddenPart{part}) || !slices.Equal(answer.Hidden.Bench, want.hidden) || !strings.Contains(strings.Join(answer.Next, "\n"), "run --eager") {
			t.Errorf("bad beside %s: %+v", bench, answer)
		}
	}
	if text := program.Run(t, up.Setting, "compare", "bad", "good").Stdout; !strings.Contains(text, "in 3 of 3 steps") {
		t.Errorf("the text does not say how much: %s", text)
	}
}
