package agent_test

import (
	"math"
	"os"
	"os/exec"
	"strconv"
	"testing"

	"github.com/tensortap/tensortap/internal/dev/testbed"
	"github.com/tensortap/tensortap/schemas"
)

// writeInPython has the collector's own writer write a spool.
func writeInPython(tb testing.TB, root, run string, steps, modules int) {
	tb.Helper()
	inPython(tb, "testdata/write_spool.py", root, run, strconv.Itoa(steps), strconv.Itoa(modules))
}

// inPython runs a script with the collector's own modules, those that need no torch.
func inPython(tb testing.TB, script string, arguments ...string) {
	tb.Helper()
	python, err := exec.LookPath("python3")
	if err != nil {
		testbed.Needed(tb, "no python3")
	}
	cmd := exec.CommandContext(tb.Context(), python, append([]string{script}, arguments...)...)
	cmd.Env = append(os.Environ(), "PYTHONPATH=../torch/src", "PYTHONDONTWRITEBYTECODE=")
	if out, err := cmd.CombinedOutput(); err != nil {
		tb.Fatalf("write a spool: %v\n%s", err, out)
	}
}

func TestWhatTheCollectorWritesIsWhatTheAgentReads(t *testing.T) {
	t.Parallel()
	const steps, modules = 30, 25
	root, l := t.TempDir(), newLog(t)
	writeInPython(t, root, "written in Python ☃", steps, modules)
	serveUntil(t, config(t, root, l), empty(t, root))
	onceEach(t, l, 1, steps, 2*modules)
	contiguous(t, l)
	run, rank := rows[schemas.RunRow](l)[0], rows[schemas.RankRow](l)[0]
	if run.Name != "written in Python ☃" || run.Labels["α"] != "β" || rank.Rank != 3 || rank.TP != -1 || rank.TPSize != 2 {
		t.Errorf("described as %+v, %+v", run, rank)
	}
	for _, s := range rows[schemas.StepRow](l) {
		if s.OpCount != modules+1 || s.Phase != "train" || s.BeginTimeNs == nil || s.EndTimeNs == nil {
			t.Errorf("step %+v", s)
		}
		if s.GlobalStep == nil || *s.GlobalStep != 1000+uint64(s.Step) {
			t.Errorf("step %d has the trainer's step %v", s.Step, s.GlobalStep)
		}
	}
	for i, r := range rows[schemas.TensorRow](l) {
		if i%2 == 1 {
			if r.ValueMean != 0.5 || r.ElementCount != 0 {
				t.Fatalf("literal %+v", r)
			}
			continue
		}
		if want := float64(r.Step) + float64(i/2%modules)/1024; r.ValueMean != want || r.ValueMax != want || r.NaNCount != 1 || r.ElementCount != 1 {
			t.Fatalf("tensor %d is %+v, want value %v", i, r, want)
		}
	}
	if stacks := rows[schemas.StackRow](l); len(stacks) != modules || len(stacks[0].Frames) != 2 || stacks[0].Frames[1] != "in ☃" {
		t.Errorf("stacks %+v", stacks)
	}
	if calls := rows[schemas.ProgramStackRow](l); len(calls) != modules {
		t.Errorf("%d positions have a stack, want %d", len(calls), modules)
	}
}

func TestANumberInItsRowIsTheSameAsOneInADefinition(t *testing.T) {
	t.Parallel()
	root, l := t.TempDir(), newLog(t)
	inPython(t, "testdata/write_numbers.py", root)
	serveUntil(t, config(t, root, l), empty(t, root))
	numbers := rows[schemas.TensorRow](l)
	if len(numbers) < 8000 {
		t.Fatalf("%d numbers, want thousands", len(numbers))
	}
	literals := map[uint64]string{}
	for _, r := range rows[schemas.LayoutRow](l) {
		literals[r.LayoutID] = r.Kind + " " + r.Literal
	}
	for i := 0; i < len(numbers); i += 2 {
		defined, ours := numbers[i], numbers[i+1]
		if defined.LayoutID != ours.LayoutID || defined.Measured != ours.Measured || math.Float64bits(defined.ValueMean) != math.Float64bits(ours.ValueMean) {
			t.Fatalf("%q is in its row %q: %+v, want %+v", literals[defined.LayoutID], literals[ours.LayoutID], ours, defined)
		}
	}
	for _, literal := range literals {
		if literal == "float " || literal == "int " {
			t.Errorf("a layout of numbers is one of none: %q", literal)
		}
	}
}
