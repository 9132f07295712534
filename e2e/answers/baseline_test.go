package answers

import (
	"strings"
	"testing"
	"time"

	"github.com/tensortap/tensortap/e2e/internal/program"
	"github.com/tensortap/tensortap/internal/dev/recorded"
)

// a line is a command, with what comes of it.
type line struct {
	args   string
	status int
	says   string
}

func requireLines(t *testing.T, u *program.Up, lines []line) {
	t.Helper()
	for _, l := range lines {
		out := program.Run(t, u.Setting, strings.Fields(l.args)...)
		if out.Status != l.status || !strings.Contains(out.Stdout+out.Stderr, l.says) {
			t.Errorf("%s: %v, want status %d and %q", l.args, out, l.status, l.says)
		}
	}
}

func TestABaselineIsSetReplacedListedAndRemoved(t *testing.T) {
	t.Parallel()
	u := program.PublishOnce(t, "B00_golden_mix")
	rules := program.TextFile(t, "layers.* torch.bfloat16 0.02\n* * 1e-5\n")
	requireLines(t, u, []line{
		{"baseline set kept-night --run B00_golden_mix --match team=vision --match model=a=b --tolerance 0.5 --step-offset -3 --strict", 0, "baseline kept-night is set"},
		{"baseline list --output csv", 0, `kept-night,"[""B00_golden_mix""]","{""model"":""a=b"",""team"":""vision""}",0.5,0,0,-3,0,1,`},
		{"baseline list", 0, "kept-night"},
		{"baseline list --output json --columns name,step_offset,strict", 0, `"step_offset":-3`},
		{"baseline set kept-night --run B00_golden_mix --run kept-later --match team=other --tolerance " + rules, 0, "nothing is judged against run kept-later until it is there: no run is named"},
		{"baseline list --output csv", 0, `kept-night,"[""B00_golden_mix"",""kept-later""]","{""team"":""other""}",,2,`},
		{"baseline set kept-day --run B00_golden_mix --match team=other", 0, "is set"},
		{"baseline remove kept-nigth", program.ExitError, `no baseline is named "kept-nigth"; the nearest: "kept-night"`},
		{"baseline remove kept-night", 0, "baseline kept-night is removed"},
		{"baseline remove kept-night", program.ExitError, `no baseline is named "kept-night"`},
		{"baseline set kept-night --run B00_golden_mix --match vision", program.ExitError, `label "vision": want name=value`},
		{"baseline set kept-night --run B00_golden_mix --run B00_golden_mix", program.ExitError, "named twice"},
		{"baseline set kept-night --run B00_golden_mix --tolerance none", program.ExitError, "neither a number nor a file"},
		{"baseline set kept-night --run B00_golden_mix --map none.yaml", program.ExitError, "none.yaml"},
		{"baseline set kept-night", program.ExitError, `"run" not set`},
		{"baseline nope", program.ExitError, `unknown command "nope"`},
		{"__complete baseline set kept-night --run B00_golden_m", 0, "B00_golden_mix\n"},
	})
	if out := program.Run(t, u.Setting, "baseline", "list", "--output", "csv"); strings.Contains(out.Stdout, "kept-night") || !strings.Contains(out.Stdout, "kept-day") {
		t.Errorf("after one was removed: %v", out)
	}
}

func TestRunsThatMatchABaselineAreHeldAgainstIt(t *testing.T) {
	t.Parallel()
	u := program.PublishOnce(t, "B00_golden_mix")
	dump := recorded.Unpack(t, "B02_weight_mix")
	requireLines(t, u, []line{
		{"publish msprobe " + dump + " --run matched-none --label team=matched", 0, "published"},
		{"baseline set matched-team --run B00_golden_mix --match team=matched --match model=small --tolerance 0.25", 0, "is set"},
		{"publish msprobe " + dump + " --run matched-both --label team=matched --label model=small --label more=1", 0, "published"},
	})
	const judged = `SELECT DISTINCT c.problem, c.tolerance FROM tap.declared_comparisons AS c
		INNER JOIN tap.judged_steps AS s ON s.comparison_id = c.comparison_id WHERE startsWith(c.problem, 'matched-')`
	var rows [][]string
	err := program.Await(time.Minute, "the run that matches to be judged", func() bool {
		rows = u.Query(t, judged)
		return len(rows) > 0
	})
	if err != nil || len(rows) != 1 || rows[0][0] != "matched-both" || rows[0][1] != "0.25" {
		t.Errorf("judged: %v, %v, want matched-both alone, with tolerance 0.25", rows, err)
	}
}

// TestPublishedRunsAreHeldAgainstABench publishes what equals the bench, what differs from it, and what cannot be told.
func TestPublishedRunsAreHeldAgainstABench(t *testing.T) {
	t.Parallel()
	u := program.PublishOnce(t, "B00_golden_mix", "D_ddp_golden")
	bad, same := recorded.Unpack(t, "B02_weight_mix"), recorded.Unpack(t, "B00_golden_mix")
	requireLines(t, u, []line{
		{"publish msprobe " + bad + " --run held-bad --bench B00_golden_mix", program.ExitDiffers, "began at     step 0, rank 0, op Functional.linear.20.forward"},
		{"publish msprobe " + bad + " --run held-loose --bench B00_golden_mix --tolerance 1e9", program.ExitError, "stand alone"},
		{"publish msprobe " + same + " --run held-same --bench B00_golden_mix", program.ExitSame, "SAME         problem held-same against bench B00_golden_mix"},
		{"publish msprobe " + same + " --run held-other --bench D_ddp_golden --step-offset 100", program.ExitError, "cannot say whether the runs differ"},
		{"publish msprobe " + bad + " --run held-none --bench B00_golden_mxi", program.ExitError, `no run is named "B00_golden_mxi"; the nearest: "B00_golden_mix"`},
		{"publish msprobe " + bad + " --run held-none --tolerance 1", program.ExitError, "--tolerance goes with --bench"},
		{"compare held-none held-same", program.ExitError, `no run is named "held-none"`},
	})
	rows := u.Query(t, "SELECT problem FROM tap.declared_comparisons WHERE standing = 1 AND startsWith(problem, 'held-') ORDER BY problem")
	var standing []string
	for _, row := range rows {
		standing = append(standing, row[0])
	}
	if got, want := strings.Join(standing, " "), "held-bad held-loose held-other held-same"; got != want {
		t.Errorf("standing comparisons are of %q, want %q", got, want)
	}
}
