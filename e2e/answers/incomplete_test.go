package answers

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tensortap/tensortap/e2e/internal/program"
	"github.com/tensortap/tensortap/internal/dev/recorded"
	"github.com/tensortap/tensortap/schemas"
	"github.com/tensortap/tensortap/sql"
)

func TestADumpThatWasCutShortSaysSoEverywhere(t *testing.T) {
	t.Parallel()
	u := program.PublishOnce(t, "B00_golden_mix")
	dir := recorded.Unpack(t, "B00_golden_mix")
	path := filepath.Join(dir, "step1", "rank0", "dump.json")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, int64(len(text)/2)); err != nil {
		t.Fatal(err)
	}
	out := program.Run(t, u.Setting, "publish", "msprobe", dir, "--run", "cut short")
	if out.Status != program.ExitError || !strings.Contains(out.Stdout, "published") || !strings.Contains(out.Stderr, "run cut short is not stored whole") {
		t.Errorf("publish: %v, want all that is good stored, and status 2", out)
	}
	lastOp := text[:len(text)/2]
	for _, part := range []string{"warning: " + path + " at byte ", `, op "`, "ends inside"} {
		if !strings.Contains(out.Stderr, part) {
			t.Errorf("publish: %v, want %q", out, part)
		}
	}
	if _, op, _ := strings.Cut(out.Stderr, `op "`); !strings.Contains(string(lastOp), op[:strings.Index(op, `"`)+1]) {
		t.Errorf("publish names an op that is not in the file: %v", out)
	}
	u.Settle(t)
	if states := u.Query(t, "SELECT status FROM tap.runs WHERE name = 'cut short'"); len(states) != 1 || states[0][0] != "incomplete" {
		t.Errorf("status of the run: %v, want incomplete", states)
	}
	rows := u.Query(t, "SELECT step, count(), uniqExact(op_id) FROM tap.tensors WHERE run = 'cut short' GROUP BY step ORDER BY step")
	if len(rows) != 2 || rows[0][1] != "1815" || program.Number(t, rows[1][1]) < 700 || program.Number(t, rows[1][1]) > 1200 {
		t.Errorf("steps, rows, ops: %v, want 1815 of step 0 and about half as many of step 1", rows)
	}
	completeness := program.Run(t, u.Setting, "report", "completeness", "--run", "cut short")
	if completeness.Status != 0 || !strings.HasPrefix(completeness.Stderr, "INCOMPLETE: run cut short rank 0: ") {
		t.Errorf("completeness: %v", completeness)
	}
	compared := program.Run(t, u.Setting, "compare", "cut short", "B00_golden_mix")
	if compared.Status != 2 || !strings.HasPrefix(compared.Stdout, "INCOMPLETE ") || !strings.Contains(compared.Stdout, "UNKNOWN ") {
		t.Errorf("compare: %v, want INCOMPLETE first and status 2", compared)
	}
	folders := program.Run(t, program.Setting{}, "compare", dir, filepath.Join(filepath.Dir(dir), "dump"), "--output", "json")
	if got := parseAnswer(t, folders); folders.Status != 2 || got.Incomplete == "" || got.Verdict != "unknown" {
		t.Errorf("compare folders: %v", folders)
	}
}

// dropping publishes a step of which a row never arrives, and another of which the rank itself dropped some.
func dropping(t *testing.T, u *program.Up, name string) {
	t.Helper()
	run := newLiveRun(t, u, name)
	run.step(0)
	for op := range liveOps - 1 {
		run.row(1, op, 1)
	}
	run.end(1)
	for op := range liveOps {
		run.row(2, op, 1)
	}
	send(run, "step", &schemas.StepRow{
		RunID: schemas.RunID(name), Epoch: run.epoch, Batch: run.batches["step"], EventTimeNs: 1, Step: 2,
		ProgramID: liveProgram(), OpCount: liveOps, TensorCount: liveOps, Complete: 1, DroppedCount: 3, DropReason: "queue full",
	})
}

func TestEveryAnswerAboutDroppedEventsSaysSoFirst(t *testing.T) {
	t.Parallel()
	u := program.Shared(t)
	const problem, bench = "dropped batch", "nothing dropped"
	dropping(t, u, problem)
	whole := newLiveRun(t, u, bench)
	for step := range uint32(3) {
		whole.step(step)
	}
	u.Settle(t)
	for _, sides := range [][2]string{{problem, bench}, {bench, problem}} {
		out := program.Run(t, u.Setting, "compare", sides[0], sides[1])
		first, rest, _ := strings.Cut(out.Stdout, "\n")
		if out.Status != 2 || !strings.HasPrefix(first, "INCOMPLETE   run "+problem+" rank 0: ") || !strings.HasPrefix(rest, "UNKNOWN ") {
			t.Errorf("compare %q: %v, want INCOMPLETE first, then UNKNOWN", sides, out)
		}
	}
	reports, err := sql.Reports()
	if err != nil {
		t.Fatal(err)
	}
	asked := 0
	values := map[string]string{"run": problem, "problem": problem, "bench": bench, "op": liveOp(1), "name": liveOp(1), "id": "*"}
	for _, r := range reports {
		args := []string{"report", r.Name, "--output", "csv"}
		about := false
		for _, p := range r.Parameters {
			if value, known := values[p.Name]; known && p.Required {
				args, about = append(args, "--"+p.Name, value), about || value == problem
			}
		}
		if !about {
			continue
		}
		asked++
		if out := program.Run(t, u.Setting, args...); out.Status != 0 || !strings.HasPrefix(out.Stderr, "INCOMPLETE: run "+problem+" rank 0: ") {
			t.Errorf("%q: %v, want INCOMPLETE first", args, out)
		}
	}
	if asked < 20 {
		t.Errorf("%d reports are about runs", asked)
	}
}
