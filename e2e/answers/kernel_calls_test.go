package answers

import (
	"strings"
	"testing"

	"github.com/tensortap/tensortap/e2e/internal/program"
)

// TestTheKernelThatAProcessDiedInIsNamed publishes what FlashInfer leaves of a process that died in its second call.
func TestTheKernelThatAProcessDiedInIsNamed(t *testing.T) {
	t.Parallel()
	u := program.Shared(t)
	publish := []string{"publish", "kernel-calls", "../../producers/kernelcalls/testdata/session.jsonl", "--run", "kernel calls"}
	for _, want := range []string{"published ", "1 of 1 step of ranks was published before"} {
		if out := program.Run(t, u.Setting, publish...); out.Status != program.ExitSame || out.Stderr != "" || !strings.Contains(out.Stdout, want) {
			t.Errorf("%q lacks %q: %v", publish, want, out)
		}
	}
	u.Settle(t)
	out := program.Run(t, u.Setting, "report", "failing-op", "--run", "kernel calls")
	for _, want := range []string{"Kernel.norm.rmsnorm", "never ended", "began at 2026-01-08 12:00:00 by its host's clock", "arg_0: bfloat16[8, 128] strides [128, 1] cuda:0"} {
		if !strings.Contains(out.Stdout, want) {
			t.Errorf("lacks %q: %v", want, out)
		}
	}
	if out := program.Run(t, u.Setting, "report", "shapes", "--run", "kernel calls"); strings.Count(out.Stdout, "norm.rmsnorm") != 2 {
		t.Errorf("report shapes: %v", out)
	}
}
