package answers

import (
	"encoding/json"
	"reflect"
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

// The same op of the same dumps, as folders and stored, is told alike.
func TestExplainOfFoldersSaysWhatItSaysOfStoredRunsAndStartsNothing(t *testing.T) {
	t.Parallel()
	u := program.PublishOnce(t, "B02_weight_mix", "B00_golden_mix")
	bad, good := recorded.Unpack(t, "B02_weight_mix"), recorded.Unpack(t, "B00_golden_mix")
	for _, op := range []string{"Functional.linear.20.forward", "layers.2.mlp.down_proj"} {
		folders := explained(t, nothingStarts(t), bad, good, op)
		stored := explained(t, u.Setting, "B02_weight_mix", "B00_golden_mix", op)
		for _, name := range []string{"problem", "bench", "msprobe"} { // what differs: the names, and what only stored runs have
			delete(folders, name)
			delete(stored, name)
		}
		if !reflect.DeepEqual(folders, stored) {
			t.Errorf("explain %s of folders: %v, want what is said of stored runs: %v", op, folders, stored)
		}
	}
	text := program.Run(t, nothingStarts(t), "explain", "--problem", bad, "--bench", good, "--op", "Functional.linear.20.forward")
	if text.Status != 0 || !strings.Contains(text.Stdout, "compare "+bad+" "+good+" --rank 0 --steps 0 --output csv\n") {
		t.Errorf("explain of folders: %v, want what to type next", text)
	}
}

func explained(t *testing.T, s program.Setting, problem, bench, op string) (answer map[string]any) {
	t.Helper()
	out := program.Run(t, s, "explain", "--problem", problem, "--bench", bench, "--op", op, "--output", "json")
	if err := json.Unmarshal([]byte(out.Stdout), &answer); err != nil || out.Status != 0 {
		t.Fatalf("explain %s: %v, %v", op, err, out)
	}
	return answer
}

func TestExplainOfFoldersThatCannotBeIsAnError(t *testing.T) {
	t.Parallel()
	bad := recorded.Unpack(t, "B02_weight_mix")
	for _, c := range [][3]string{
		{bad, "good", "is a folder, and good is the name of a run"},
		{bad, bad + "/nowhere", "no such folder"},
		{bad, t.TempDir(), "no msProbe dump"},
	} {
		out := program.Run(t, nothingStarts(t), "explain", "--problem", c[0], "--bench", c[1], "--op", "linear")
		if out.Status != program.ExitError || !strings.Contains(out.Stderr, c[2]) {
			t.Errorf("explain %s against %s: %v, want %q", c[0], c[1], out, c[2])
		}
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
