package answers

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tensortap/tensortap/e2e/internal/program"
	"github.com/tensortap/tensortap/internal/dev/recorded"
)

// TestAnotherRunOfTheBenchCalibrates: eager attention in place of a fused one differs by more than dtype and depth allow in a few
// places. A weight that is wrong stays a difference, and is no calibration.
func TestAnotherRunOfTheBenchCalibrates(t *testing.T) {
	t.Parallel()
	u := program.Shared(t)
	for run, dump := range map[string]string{"calibrated weight": "B02_weight_mix", "calibrated golden": "B00_golden_mix", "calibrated eager": "B10_eager_attn_mix"} {
		u.Publish(t, filepath.Join(recorded.Unpack(t, dump), "step0"), run)
	}
	u.Settle(t)
	without := program.Run(t, u.Setting, "compare", "calibrated weight", "calibrated golden", "--output", "json")
	with := program.Run(t, u.Setting, "compare", "calibrated weight", "calibrated golden", "--calibrate", "calibrated eager", "--output", "json")
	for _, part := range []string{`"verdict": "differs"`, `"run": "calibrated eager"`, `"widened": 5,`, `"faulty": 0,`} {
		if with.Status != program.ExitDiffers || !strings.Contains(with.Stdout, part) {
			t.Errorf("want %s in %v", part, with)
		}
	}
	if !strings.Contains(without.Stdout, `"calibrated": null`) {
		t.Error(without)
	}
	asked := u.Query(t, "SELECT benches[1], calibration FROM tap_store.declared_comparison WHERE problem = 'calibrated weight' ORDER BY calibration LIMIT 1 BY comparison_id")
	if len(asked) != 2 || asked[1][1] != "calibrated eager" {
		t.Errorf("comparisons are declared with calibrations %q, want none and one", asked)
	}
	api := apiOf(t, u) + "/compare?problem=calibrated+weight&bench=calibrated+golden&calibrate="
	if got := get(t, api+"calibrated+eager"); got.status != http.StatusOK || !strings.Contains(got.body, `"widened": 5,`) {
		t.Errorf("by the API: status %d\n%.2000s", got.status, got.body)
	}
	if got := get(t, api+"calibrated+golden"); got.status != http.StatusBadRequest {
		t.Errorf("by the bench itself: status %d\n%.2000s", got.status, got.body)
	}
	if got := get(t, api+"nobody"); got.status != http.StatusNotFound || !strings.Contains(got.body, `"parameter":"calibrate"`) {
		t.Errorf("by a run that is not there: status %d\n%.2000s", got.status, got.body)
	}
	if got := get(t, strings.Replace(api, "/compare?", "/reports/first_divergence?", 1)+"calibrated+golden"); got.status != http.StatusBadRequest {
		t.Errorf("a report by the bench itself: status %d\n%.2000s", got.status, got.body)
	}
	table := program.Run(t, u.Setting, "report", "first-divergence", "--problem", "calibrated weight", "--bench", "calibrated golden", "--calibrate", "calibrated eager")
	if table.Status != 0 || !strings.Contains(table.Stdout, "Functional.linear.20.forward") {
		t.Error(table)
	}
	op := program.Run(t, u.Setting, "explain", "calibrated weight", "calibrated golden", "--calibrate", "calibrated eager", "--op", "Functional.linear.20.forward")
	if op.Status != 0 || !strings.Contains(op.Stdout, "--calibrate 'calibrated eager'") {
		t.Error(op)
	}
	for want, flags := range map[string][]string{
		"first those of Functional.linear.20.forward": {"--calibrate", "calibrated weight"},
		"no run is named": {"--calibrate", "nobody"},
	} {
		out := program.Run(t, u.Setting, append([]string{"compare", "calibrated eager", "calibrated golden"}, flags...)...)
		if out.Status != program.ExitError || !strings.Contains(out.Stderr, want) {
			t.Errorf("%q: %v, want %q", flags, out, want)
		}
	}
}
