package delivery

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tensortap/tensortap/e2e/internal/program"
	"github.com/tensortap/tensortap/internal/dev/recorded"
	"github.com/tensortap/tensortap/internal/dev/soak"
	"github.com/tensortap/tensortap/schemas"
)

// loseStep takes every row of a step out of the tables, of the greatest generation that of the last rank, and returns the rank.
func loseStep(t *testing.T, u *program.Up, run string) string {
	t.Helper()
	last := u.Query(t, fmt.Sprintf("SELECT toString(run_id), toString(rank), toString(epoch) FROM tap_store.step WHERE run_id = %d ORDER BY generation DESC, rank DESC, step DESC LIMIT 1", schemas.RunID(run)))[0]
	for _, table := range schemas.Tables() {
		if !slices.ContainsFunc(table.Columns, func(c schemas.Column) bool { return c.Name == "epoch" }) {
			continue
		}
		condition := fmt.Sprintf("run_id = %s AND epoch = %s", last[0], last[2])
		if slices.ContainsFunc(table.Columns, func(c schemas.Column) bool { return c.Name == "rank" }) {
			condition += " AND rank = " + last[1]
		}
		program.Execute(t, u, "ALTER TABLE tap_store."+table.Kind()+" DELETE WHERE "+condition+" SETTINGS mutations_sync = 2")
	}
	return last[1]
}

func TestAStepThatTheTablesLostWholeIsCountedAsLost(t *testing.T) {
	t.Parallel()
	u := program.StartUp(t, t.TempDir(), "--archive-age", "100ms", "--check-every", "0") // nothing mends
	twoRuns(t, u)
	for _, run := range []string{"bad", "good"} {
		if out := program.Run(t, u.Setting, "report", "completeness", "--run", run); out.Status != 0 || out.Stderr != "" {
			t.Errorf("completeness of a whole run: %v", out)
		}
		said := "run " + run + " rank " + loseStep(t, u, run) + ": "
		const lost = "1 steps that were published are not stored"
		out := program.Run(t, u.Setting, "report", "completeness", "--run", run)
		if first, _, _ := strings.Cut(out.Stderr, "\n"); !strings.HasPrefix(first, "INCOMPLETE: "+said) || !strings.Contains(first, lost) || !strings.Contains(out.Stdout, lost) {
			t.Errorf("completeness of a run that lost a step: %v", out)
		}
		out = program.Run(t, u.Setting, "compare", "bad", "good")
		if first, _, _ := strings.Cut(out.Stdout, "\n"); !strings.HasPrefix(first, "INCOMPLETE ") || !strings.Contains(out.Stdout, lost) {
			t.Errorf("compare with a run that lost a step: %v", out)
		}
	}
}

// TestWhatIsLostOfARunThatIsOnlyMeasuredByIsTold: of a run that calibrates, and of a further bench.
func TestWhatIsLostOfARunThatIsOnlyMeasuredByIsTold(t *testing.T) {
	t.Parallel()
	soak.Only(t)
	u := program.StartUp(t, t.TempDir(), "--archive-age", "100ms", "--check-every", "0") // nothing mends
	twin := recorded.Unpack(t, "A_llama_mix_statistics")
	u.Publish(t, twin, "twin")
	twoRuns(t, u)
	said := "run twin rank " + loseStep(t, u, "twin") + ": 1 steps that were published are not stored"
	if out := program.Run(t, u.Setting, "compare", "bad", "good", "--calibrate", "twin"); !strings.HasPrefix(out.Stdout, "INCOMPLETE   "+said) {
		t.Errorf("compare by a calibration that lost a step: %v", out)
	}
	for _, flag := range []string{"--calibrate", "--benches"} {
		out := program.Run(t, u.Setting, "report", "first-divergence", "--problem", "bad", "--bench", "good", flag, "twin")
		if out.Status != 0 || !strings.HasPrefix(out.Stderr, "INCOMPLETE: "+said) {
			t.Errorf("report of verdicts with %s of a run that lost a step: %v", flag, out)
		}
	}
}

func TestTheLostGenerationOfAStepIsCountedAsLost(t *testing.T) {
	t.Parallel()
	soak.Only(t)
	u := program.StartUp(t, t.TempDir(), "--archive-age", "100ms", "--check-every", "0") // nothing mends
	dir := recorded.Unpack(t, "D_tp_golden")
	u.Publish(t, dir, "good")
	if out := program.Run(t, u.Setting, "publish", "msprobe", program.Altered(t, dir, alteredPart(t, dir)), "--run", "good", "--replace"); out.Status != 0 {
		t.Fatalf("publish --replace: %v", out)
	}
	u.Settle(t)
	if out := program.Run(t, u.Setting, "report", "completeness", "--run", "good"); out.Status != 0 || out.Stderr != "" {
		t.Errorf("completeness of a whole run: %v", out)
	}
	loseStep(t, u, "good")
	if out := program.Run(t, u.Setting, "report", "completeness", "--run", "good"); !strings.Contains(out.Stderr, "1 steps that were published are not stored") {
		t.Errorf("completeness where the step has its rows of before alone: %v", out)
	}
}
