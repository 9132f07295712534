package answers

import (
	"strings"
	"testing"

	"github.com/tensortap/tensortap/e2e/internal/program"
)

// Each problem agrees with its bench in all that both have measured, and yet is not the same.
func TestWatchAndCompareDoNotKnowTheSame(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		alter func(problem, bench *liveRun)
		want  string
	}{
		"bits differ": {func(problem, bench *liveRun) {
			problem.checksum, bench.checksum = 1, 2
			problem.step(0)
			bench.step(0)
		}, "20 tensors have the same statistics but other bits"},
		"step of one run only": {func(problem, bench *liveRun) {
			problem.step(0)
			bench.step(0)
			bench.step(1)
		}, "20 tensors stand alone"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := program.Shared(t)
			run := "watch-unknown-" + strings.ReplaceAll(name, " ", "-")
			problem, bench := newRunFrom(t, u, run+"-bad", "file"), newRunFrom(t, u, run+"-good", "file")
			c.alter(problem, bench)
			u.Settle(t)
			compared := program.Run(t, u.Setting, "compare", problem.name, bench.name)
			if compared.Status != program.ExitError || !strings.Contains(compared.Stdout, "UNKNOWN") || !strings.Contains(compared.Stdout, c.want) {
				t.Errorf("compare: %v\nwant UNKNOWN and %q", compared, c.want)
			}
			w := program.Watch(t, u, problem.name, bench.name, "--idle", "3s")
			end := w.Next(t, "end")
			if status := w.Status(t); status != program.ExitError || end.State != "unknown" || !strings.Contains(end.Because, c.want) {
				t.Errorf("watch: status %d, %+v\nwant unknown because of %q\n%s", status, end, c.want, w.Stderr)
			}
		})
	}
}

func TestWatchCountsADivergenceOnce(t *testing.T) {
	t.Parallel()
	u := program.Shared(t)
	problem, bench := newRunFrom(t, u, "watch-once-bad", "file"), newRunFrom(t, u, "watch-once-good", "file")
	w := program.Watch(t, u, problem.name, bench.name, "--idle", "5s")
	bench.step(0)
	problem.row(0, 0, 1.5)
	if e := w.Next(t, "divergence"); !e.WithinStep {
		t.Errorf("divergence: %+v, want one within the step", e)
	}
	for i := 1; i < liveOps; i++ {
		problem.row(0, i, 1)
	}
	problem.end(0)
	if e := w.Next(t, "step"); e.State != "differs" || e.Differing != 1 {
		t.Errorf("step: %+v, want 1 that differs", e)
	}
	if e := w.Next(t, "end"); e.Differing != 1 || e.Steps != 1 || e.State != "differs" {
		t.Errorf("end: %+v, want 1 that differs, in 1 step", e)
	}
	if status := w.Status(t); status != program.ExitDiffers {
		t.Errorf("status %d, want %d\n%s", status, program.ExitDiffers, w.Stderr)
	}
}
