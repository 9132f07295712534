package answers

import (
	"strings"
	"testing"

	"github.com/tensortap/tensortap/e2e/internal/program"
	"github.com/tensortap/tensortap/internal/dev/recorded"
)

func TestARunMayHaveASlashInItsName(t *testing.T) {
	t.Parallel()
	u := program.Shared(t)
	for dump, run := range map[string]string{"B02_weight_mix": "team/bad", "B00_golden_mix": "team/good"} {
		if out := u.Publish(t, recorded.Unpack(t, dump), run); out.Status != 0 {
			t.Fatalf("publish %s: %v", run, out)
		}
	}
	u.Settle(t)
	file := program.TextFile(t, "jobs:\n- {name: a, problem: team/bad, bench: team/good}\n- {name: b, problem: team/worse, bench: team/good}\n")
	for line, want := range map[string]struct {
		status int
		says   string
	}{
		"compare team/bad team/good":  {program.ExitDiffers, "Functional.linear.20.forward"},
		"overflow team/bad":           {program.ExitSame, "CLEAN"},
		"compare team/worse team/bad": {program.ExitError, `no such folder: team/worse; and no run is named "team/worse"`},
		"overflow team/worse":         {program.ExitError, `no such folder: team/worse; and no run is named "team/worse"`},
		"compare --jobs " + file:      {program.ExitError, "differs  a"},
		"explain --problem team/bad --bench team/good --op Functional.linear.20.forward": {0, "team/bad"},
	} {
		out := program.Run(t, u.Setting, strings.Fields(line)...)
		if out.Status != want.status || !strings.Contains(out.Stdout+out.Stderr, want.says) {
			t.Errorf("%s: %v, want status %d and %q", line, out, want.status, want.says)
		}
	}
	if out := program.Run(t, u.Setting, "compare", "--jobs", file); !strings.Contains(out.Stdout, "team/worse; and no stored run is known by the name team/worse") {
		t.Errorf("a job of nothing: %v", out)
	}
}
