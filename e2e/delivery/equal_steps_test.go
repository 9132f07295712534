package delivery

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tensortap/tensortap/e2e/internal/program"
	"github.com/tensortap/tensortap/internal/dev/recorded"
)

// TestStepsOfTheSameBytesAreAllStored publishes a run of which every step of both ranks holds the same files, as where the
// same prompt is served again.
func TestStepsOfTheSameBytesAreAllStored(t *testing.T) {
	t.Parallel()
	const run, steps = "ten equal steps", 10
	one := filepath.Join(recorded.Unpack(t, "D_ddp_golden"), "step0", "rank0")
	dir := t.TempDir()
	for step := range steps {
		for rank := range 2 {
			if err := os.CopyFS(filepath.Join(dir, fmt.Sprintf("step%d", step), fmt.Sprintf("rank%d", rank)), os.DirFS(one)); err != nil {
				t.Fatal(err)
			}
		}
	}
	u := program.StartUp(t, t.TempDir())
	u.Publish(t, dir, run)
	u.Settle(t)
	const stored = `SELECT uniqExact(rank, step), count(), min(rows), max(rows) FROM
		(SELECT rank, step, count() AS rows FROM tap.tensors WHERE run = 'ten equal steps' GROUP BY rank, step)`
	got := u.Query(t, stored)[0]
	if got[0] != fmt.Sprint(2*steps) || got[2] != got[3] || got[2] == "0" {
		t.Errorf("places, places, fewest and most tensors of one: %v, want %d places with as many each", got, 2*steps)
	}
	ends := u.Query(t, "SELECT count(), uniqExact(rank, epoch) FROM tap_store.step WHERE run_id IN (SELECT run_id FROM tap_store.run WHERE name = '"+run+"')")[0]
	if want := fmt.Sprint(2 * steps); !slices.Equal(ends, []string{want, want}) {
		t.Errorf("ends of steps and their epochs: %v, want %s of each", ends, want)
	}
	report := program.Run(t, u.Setting, "report", "completeness", "--run", run)
	if report.Status != 0 || strings.Contains(report.Stderr, "INCOMPLETE") {
		t.Errorf("completeness: %v", report)
	}
	if out := program.Run(t, u.Setting, "publish", "msprobe", dir, "--run", run); out.Status != 0 || !publishedNothing(out) {
		t.Errorf("published again: %v", out)
	}
	for _, sides := range [][]string{{run, run}, {dir, dir}} {
		out := program.Run(t, u.Setting, append([]string{"compare", "--output", "json"}, sides...)...)
		var answer struct{ Summary []any }
		if err := json.Unmarshal([]byte(out.Stdout), &answer); err != nil || out.Status != 0 || len(answer.Summary) != 2*steps {
			t.Errorf("compare %v: %d places (%v), want %d: %v", sides, len(answer.Summary), err, 2*steps, out.Stderr)
		}
	}
}
