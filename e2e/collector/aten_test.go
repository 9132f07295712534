package collector

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tensortap/tensortap/e2e/internal/program"
	"github.com/tensortap/tensortap/e2e/internal/torch"
)

// TestOpsOfALoopAreCounted launches a sampler's loop four times at level aten: as it should be, with a copy that it has no need
// of, with an op that raises, and killed.
func TestOpsOfALoopAreCounted(t *testing.T) {
	t.Parallel()
	python := torch.Python(t)
	u := program.Shared(t)
	for _, fault := range []struct {
		name   string
		status int
	}{{"", 0}, {"copies", 0}, {"raises", 1}, {"dies", 137}} {
		out := program.Run(t, u.Setting, "run", "--run", "loop "+fault.name, "--level", "aten", "--", python, "testdata/denoise.py", fault.name)
		if out.Status != fault.status || !strings.Contains(out.Stderr, "next: tensortap report shapes --run 'loop ") {
			t.Errorf("%q: status %d, want %d: %v", fault.name, out.Status, fault.status, out)
		}
	}
	u.Settle(t)
	requireOnceStored(t, u)
	const strided = "input: float32[2, 8, 8] strides [64, 1, 8] cpu"
	for _, c := range []struct {
		args  []string
		wants []string
	}{
		{[]string{"shapes", "--run", "loop "}, []string{strided, "float32[2, 8, 8] strides [64, 8, 1] cpu"}},
		{[]string{"shape-diff", "--problem", "loop copies", "--bench", "loop "}, []string{"only in problem", "aten.contiguous.default", "blocks.0"}},
		{[]string{"shape-diff", "--problem", "loop ", "--bench", "loop "}, []string{"all shapes are the same: run loop  called ", " in each of 50 steps of 1 rank, "}},
		{[]string{"shape-diff", "--problem", "loop copies", "--bench", "loop ", "--limit", "0"}, []string{"difference"}},
		{[]string{"shape-diff", "--problem", "loop ", "--bench", "loop ", "--steps", "50-"}, []string{"nothing to compare: runs loop  and loop  have no step in common"}},
		{[]string{"failing-op", "--run", "loop raises"}, []string{
			"Aten.mm.default.0.forward", "blocks.0", "RuntimeError", "input.0: float32[8, 8] strides [1, 8] cpu", "input.1: float32[5, 3] strides [1, 5] cpu", "denoise.py, line 23",
		}},
		{[]string{"failing-op", "--run", "loop dies"}, []string{"process died", "Aten.", "float32[2, 8, 8] strides"}},
	} {
		out := program.Run(t, u.Setting, append([]string{"report"}, c.args...)...)
		t.Logf("tensortap report %q\n%s%s", c.args, out.Stdout, out.Stderr)
		for _, want := range c.wants {
			if !strings.Contains(out.Stdout, want) {
				t.Errorf("%q lacks %q", c.args, want)
			}
		}
	}
	if out := program.Run(t, u.Setting, "report", "shape-diff", "--problem", "loop ", "--bench", "loop ", "--output", "csv"); strings.Count(out.Stdout, "\n") > 1 {
		t.Errorf("a run differs from itself: %v", out)
	}
}

// TestALogOfShapesSaysWhatLevelAtenSays has one program write SGLang's log and our own events, and publishes the log.
func TestALogOfShapesSaysWhatLevelAtenSays(t *testing.T) {
	t.Parallel()
	python := torch.Python(t)
	u := program.Shared(t)
	for _, fault := range []string{"copies", "raises"} {
		log := filepath.Join(t.TempDir(), "shapes.jsonl")
		at := u.Setting
		at.Env = append(slices.Clone(at.Env), "SGLANG_PROFILE_SHAPES=1", "SGLANG_PROFILE_SHAPES_FILE="+log)
		program.Run(t, at, "run", "--run", "own "+fault, "--level", "aten", "--", python, "testdata/denoise.py", fault)
		out := program.Run(t, u.Setting, "publish", "sglang-shapes", log, "--run", "log "+fault)
		if out.Status != program.ExitSame || out.Stderr != "" || !strings.Contains(out.Stdout, "published ") {
			t.Errorf("publish the log of %q: %v", fault, out)
		}
	}
	u.Settle(t)
	if own, log := countedCalls(t, u, "own copies"), countedCalls(t, u, "log copies"); !slices.Equal(own, log) || len(own) < 5 {
		t.Errorf("own events:\n%s\nthe log:\n%s", strings.Join(own, "\n"), strings.Join(log, "\n"))
	}
	out := program.Run(t, u.Setting, "report", "failing-op", "--run", "log raises")
	for _, want := range []string{"Aten.mm.default", "RuntimeError", "self: float32[8, 8]", "mat2: float32[5, 3]"} {
		if !strings.Contains(out.Stdout, want) {
			t.Errorf("failing-op lacks %q: %v", want, out)
		}
	}
	out = program.Run(t, u.Setting, "report", "shape-diff", "--problem", "log copies", "--bench", "log raises")
	if !strings.Contains(out.Stdout, "only in bench") || !strings.Contains(out.Stdout, "raised RuntimeError") {
		t.Errorf("shape-diff of two logs: %v", out)
	}
}

// countedCalls are the calls of all ops with tensors, without strides and devices, which the log does not have.
func countedCalls(tb testing.TB, u *program.Up, run string) []string {
	tb.Helper()
	var lines []string
	for _, row := range u.Query(tb, `SELECT op_name, arrayStringConcat(arrayMap(l -> replaceRegexpOne(l, '\\].*', ']'), inputs), ', ') AS given,
		arrayStringConcat(arrayMap(l -> replaceRegexpOne(l, '\\].*', ']'), outputs), ', ') AS made, sum(n.call_count)
		FROM tap.signature_counts AS n WHERE run_id = xxh3('`+run+`' || char(31)) AND (given != '' OR made != '')
		GROUP BY 1, 2, 3 ORDER BY 1, 2, 3`) {
		lines = append(lines, strings.Join(row, " | "))
	}
	return lines
}

// requireOnceStored fails the test unless 50 equal steps are one tally, whose counts are those of all.
func requireOnceStored(t *testing.T, u *program.Up) {
	t.Helper()
	found := u.Query(t, `SELECT count(), uniqExact(tally_id), sum(call_count) FROM tap.calls WHERE run_id = xxh3('loop ' || char(31))`)
	rows := u.Query(t, `SELECT sum(call_count), countIf(call_count % 50 != 0) FROM (SELECT signature_id, sum(n.call_count) AS call_count
		FROM tap.calls AS c JOIN tap.tallies AS n ON n.tally_id = c.tally_id WHERE c.run_id = xxh3('loop ' || char(31)) GROUP BY signature_id)`)
	if got := fmt.Sprint(found[0][:2]); got != "[50 1]" && got != "[50 2]" { // the ops of the loop around the model are of the step before
		t.Errorf("steps and tallies: %s", got)
	}
	if found[0][2] != rows[0][0] {
		t.Errorf("steps tell of %s calls, tallies of %s", found[0][2], rows[0][0])
	}
}
