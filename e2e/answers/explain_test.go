package answers

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/tensortap/tensortap/e2e/internal/program"
	"github.com/tensortap/tensortap/internal/dev/recorded"
)

func TestExplainShowsAnOpOnAScreen(t *testing.T) {
	t.Parallel()
	u := program.Shared(t)
	u.Publish(t, recorded.Unpack(t, "B02_weight_mix"), "explain-bad")
	u.Publish(t, recorded.Unpack(t, "B00_golden_mix"), "explain-good")
	flags := []string{"explain", "--problem", "explain-bad", "--bench", "explain-good", "--op"}
	text := program.Run(t, u.Setting, append(flags, "layers.2.mlp.down_proj")...)
	for _, want := range []string{
		"op           Module.model.layers.2.mlp.down_proj.Linear.forward.0, rank 0, step 0",
		"module       model.layers.2.mlp.down_proj", "paired       with the op of the same name", "parameter weight", "diverged by statistics",
		"msProbe", "before it    ", "elsewhere    ", "first called at File ", "not meant    Module.model.layers.2.mlp.down_proj.Linear.backward.0",
	} {
		if text.Status != 0 || !strings.Contains(text.Stdout, want) {
			t.Errorf("explain lacks %q: %v", want, text)
		}
	}
	if lines := strings.Count(text.Stdout, "\n"); lines > 45 {
		t.Errorf("%d lines are more than a screen", lines)
	}
	object := program.Run(t, u.Setting, append(flags, "Functional.linear.20.forward", "--output", "json")...)
	var answer struct {
		Op              string
		Rank, Step      int
		Tensors, Before []map[string]any
	}
	if err := json.Unmarshal([]byte(object.Stdout), &answer); err != nil || answer.Op != "Functional.linear.20.forward" || len(answer.Tensors) < 3 || len(answer.Before) < 2 {
		t.Errorf("explain --output json: %v, %v", err, object)
	}
}

func TestExplainHelpsToFindTheName(t *testing.T) {
	t.Parallel()
	u := program.Shared(t)
	u.Publish(t, recorded.Unpack(t, "B00_golden_mix"), "explain-names")
	for name, want := range map[string]string{
		"linear":             "ops have \"linear\" in the name of them or of their module, give one of:\n  Functional.linear.0.forward",
		"Functional.linaer":  "the nearest are:\n  Functional.linear.",
		"mlp":                "give one of:\n  Module.model.layers.0.mlp.",
		"":                   "empty",
		"\xff":               "UTF-8",
		"a'); DROP TABLE x":  "the nearest are",
		"Functional.linear.": "and ",
	} {
		out := program.Run(t, u.Setting, "explain", "--problem", "explain-names", "--bench", "explain-names", "--op", name)
		if out.Status != program.ExitError || !strings.Contains(out.Stderr, want) {
			t.Errorf("explain --op %q: want %q in %v", name, want, out)
		}
	}
	if out := program.Run(t, u.Setting, "explain", "--problem", "explain-nobody", "--bench", "explain-names", "--op", "x"); !strings.Contains(out.Stderr, "no run is named") {
		t.Errorf("explain of a run that is not there: %v", out)
	}
}
