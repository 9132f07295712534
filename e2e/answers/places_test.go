package answers

import (
	"strings"
	"testing"

	"github.com/tensortap/tensortap/e2e/internal/program"
)

func TestWhatIsNotThereIsNamedBesideWhatIs(t *testing.T) {
	t.Parallel()
	u := program.PublishOnce(t, "D_ddp_rank1_weight", "D_ddp_golden")
	for line, want := range map[string]string{
		"compare D_ddp_rank1_weight D_ddp_golden --rank 7":                                                "run D_ddp_rank1_weight has no rank 7; its ranks: 0-1",
		"overflow D_ddp_golden --rank 2":                                                                  "run D_ddp_golden has no rank 2; its ranks: 0-1",
		"report divergence --problem D_ddp_rank1_weight --bench D_ddp_golden --rank 7":                    "--rank: run D_ddp_rank1_weight has no rank 7",
		"report overflow --run D_ddp_golden --rank x":                                                     "\"x\" for \"--rank\" flag: want a whole number, -1 or more",
		"explain --problem D_ddp_rank1_weight --bench D_ddp_golden --op linear.14.forward --rank 7":       "its ranks: 0-1",
		"report op-msprobe --problem D_ddp_golden --bench D_ddp_golden --op Functional.linaer.14.forward": "no op of D_ddp_golden is named \"Functional.linaer.14.forward\"; the nearest are:\n  Functional.linear.",
		"report op-msprobe --problem D_ddp_rank1_weight --bench D_ddp_golden --op nosuch":                 "no op of D_ddp_rank1_weight or D_ddp_golden is named \"nosuch\"",
	} {
		out := program.Run(t, u.Setting, strings.Fields(line)...)
		if out.Status != program.ExitError || out.Stdout != "" || !strings.Contains(out.Stderr, want) {
			t.Errorf("%s: %v, want status 2 and %q", line, out, want)
		}
	}
	out := program.Run(t, u.Setting, "compare", "D_ddp_rank1_weight", "D_ddp_golden", "--rank", "1")
	if out.Status != program.ExitDiffers || !strings.Contains(out.Stdout, "1 rank,") {
		t.Errorf("a rank that is there: %v", out)
	}
}

func TestAStepOfOneRunAloneIsSaidToBe(t *testing.T) {
	t.Parallel()
	u := program.PublishOnce(t, "B02_weight_mix", "B00_golden_mix")
	for step, want := range map[string]string{
		"1": "no rows: only run B00_golden_mix has step 1\n",
		"7": "no rows: neither run B02_weight_mix nor run B00_golden_mix has step 7\n",

		"1 --step-offset -1":         "no rows: only run B00_golden_mix has step 0; run B02_weight_mix has no step 1\n",
		"0 --step-offset 2":          "no rows: only run B02_weight_mix has step 0; run B00_golden_mix has no step 2\n",
		"1 --step-offset 1":          "no rows: run B02_weight_mix has no step 1, and run B00_golden_mix no step 2\n",
		"1 --rank 0":                 "no rows: only run B00_golden_mix has step 1 at rank 0\n",
		"0 --rank 0 --step-offset 2": "no rows: only run B02_weight_mix has step 0 at rank 0; run B00_golden_mix has no step 2\n",
	} {
		args := append([]string{"report", "sequence", "--problem", "B02_weight_mix", "--bench", "B00_golden_mix", "--step"}, strings.Fields(step)...)
		out := program.Run(t, u.Setting, args...)
		if out.Status != program.ExitSame || !strings.HasSuffix(out.Stdout, want) {
			t.Errorf("step %s: %v, want %q", step, out, want)
		}
	}
}
