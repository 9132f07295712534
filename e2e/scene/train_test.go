package scene

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tensortap/tensortap/e2e/internal/program"
	"github.com/tensortap/tensortap/e2e/internal/torch"
)

// training runs testdata/train.py on four ranks, with the fault on rank 2 in step 2.
type training struct {
	program.Setting
	python string
}

func newTraining(t *testing.T) training {
	t.Helper()
	return training{python: torch.Python(t), Setting: launching(t)}
}

func (j training) run(t *testing.T, name, fault string) program.Outcome {
	t.Helper()
	at := j.Setting
	at.Env = append([]string{"FAULT=" + fault}, j.Env...)
	job := []string{j.python, "testdata/train.py"}
	if fault == "kill" { // of whose launcher the report reads which process was killed
		job = []string{filepath.Join(filepath.Dir(j.python), "torchrun"), "--standalone", "--nproc-per-node", "4", "testdata/train.py"}
	}
	return program.Run(t, at, append([]string{"run", "--run", name, "--level", "mix", "--"}, job...)...)
}

// requireSaid fails the test unless all of this was printed, and returns what was.
func requireSaid(t *testing.T, out program.Outcome, status int, wants ...string) {
	t.Helper()
	if out.Status != status {
		t.Errorf("status %d, want %d: %v", out.Status, status, out)
	}
	for _, want := range wants {
		if !strings.Contains(out.Stdout+out.Stderr, want) {
			t.Errorf("lacks %q: %v", want, out)
		}
	}
}

// report are the rows of a report.
func report[R any](t *testing.T, s program.Setting, args ...string) []R {
	t.Helper()
	out := program.Run(t, s, append(append([]string{"report"}, args...), "--output", "json")...)
	var answer struct {
		Rows []R `json:"rows"`
	}
	if err := json.Unmarshal([]byte(out.Stdout), &answer); err != nil {
		t.Fatalf("report %q: %v: %v", args, err, out)
	}
	return answer.Rows
}

// TestACorruptedWeightOfOneRankIsNamed trains without a fault, of which nothing is said, and with one; then it runs what
// docs/symptoms.md shows on the two.
func TestACorruptedWeightOfOneRankIsNamed(t *testing.T) {
	t.Parallel()
	u := program.StartUp(t, t.TempDir())
	u.Env = []string{"TENSORTAP_SPOOL=" + t.TempDir()}
	j := training{python: torch.Python(t), Setting: u.Setting}
	good := j.run(t, "good", "")
	requireSaid(t, good, 0, "that are recorded: 4")
	for _, alarm := range []string{"crash", "replicas", "overflow", "more of that"} {
		if strings.Contains(good.Stderr, alarm) {
			t.Errorf("a false alarm, %s: %v", alarm, good)
		}
	}
	const where = "Module.layers.1.up.Linear.forward.0"
	requireSaid(t, j.run(t, "bad", "weight"), 0,
		"run: replicas: run bad: from step 0 on, ranks [2] differ from others of ranks [0,1,2,3] in "+where+" of module layers.1.up, parameter weight",
		"run: more of that: tensortap report replicas --run bad")
	rows := report[struct {
		Step     int    `json:"step"`
		Op       string `json:"op"`
		Role     string `json:"role"`
		Path     string `json:"path"`
		OddRanks []int  `json:"odd_ranks"`
	}](t, j.Setting, "replicas", "--run", "bad")
	if len(rows) == 0 || rows[0].Step != 0 || rows[0].Op != where || rows[0].Path != "weight" || len(rows[0].OddRanks) != 1 || rows[0].OddRanks[0] != 2 {
		t.Errorf("replicas: %+v", rows)
	}
	compared := program.Run(t, j.Setting, "compare", "bad", "good")
	requireSaid(t, compared, program.ExitDiffers, "began at     step 0, rank 2, op Functional.linear.4.forward", "in module layers.1.up", "parameter weight")
	requireSymptomsShown(t, u)
}

// gone is a row of report crash.
type gone struct {
	Rank      int      `json:"rank"`
	How       string   `json:"how"`
	Step      int      `json:"step"`
	Op        string   `json:"op"`
	Module    string   `json:"module"`
	Type      string   `json:"type"`
	Message   string   `json:"message"`
	Inputs    string   `json:"inputs"`
	UserFrame string   `json:"user_frame"`
	Requests  []string `json:"requests"`
	Memory    *float64 `json:"host_resident_bytes"`
}

func TestAnOpThatRaisesOnOneRankIsNamed(t *testing.T) {
	t.Parallel()
	j := newTraining(t)
	requireSaid(t, j.run(t, "raised", "raise"), 1,
		"run: crash: run raised: rank 2 was the first to go: it raised in step 2, op Functional.linear.5.forward of module layers.1, at ",
		"RuntimeError: addmm: mat1 and mat2 shapes cannot be multiplied (16x32 and 31x16)", "input.1: float32[16, 31]",
		"run: more of that: tensortap report crash --run raised")
	rows := report[gone](t, j.Setting, "crash", "--run", "raised")
	first := requireFirst(t, rows, "raised", "Functional.linear.5.forward")
	if first.Type != "RuntimeError" || !strings.Contains(first.UserFrame, "testdata/train.py") || !strings.Contains(first.Inputs, "input.0: float32[2, 8, 32]") {
		t.Errorf("of the rank that raised: %+v", first)
	}
	requireSaid(t, program.Run(t, j.Setting, "report", "crash", "--run", "raised"), 0, "the other ranks, in the order in which they went:", "  rank 0: ")
}

func TestARankThatIsKilledInAStepIsNamed(t *testing.T) {
	t.Parallel()
	j := newTraining(t)
	requireSaid(t, j.run(t, "killed", "kill"), 1,
		"run: crash: run killed: rank 2 was the first to go: it died ", " in step 2, op Tensor.__add__.2.forward of module layers.1, at ",
		"run: more of that: tensortap report crash --run killed")
	first := requireFirst(t, report[gone](t, j.Setting, "crash", "--run", "killed"), "died", "Tensor.__add__.2.forward")
	if first.Inputs != "input.0: float32[2, 8, 16]\ninput.1: float32[2, 8, 16]" {
		t.Errorf("inputs of the op under way: %+v", first)
	}
	requireShown(t, j.Setting, "crashes.md")
}

// requireFirst fails the test unless rank 2 went first, in layers.1 in step 2, and the others were in a collective of that step.
func requireFirst(t *testing.T, rows []gone, how, op string) gone {
	t.Helper()
	if len(rows) != 4 {
		t.Fatalf("want four ranks: %+v", rows)
	}
	first := rows[0]
	if first.Rank != 2 || first.How != how || first.Step != 2 || first.Op != op || first.Module != "layers.1" || first.Memory == nil {
		t.Errorf("the first to go: %+v", first)
	}
	for _, other := range rows[1:] {
		if other.How != "waiting" && other.How != "peer gone" || other.Step != 2 || other.Op != "Distributed.all_reduce.0.forward" {
			t.Errorf("another rank: %+v", other)
		}
	}
	return first
}
