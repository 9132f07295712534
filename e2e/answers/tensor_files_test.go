package answers

import (
	"strings"
	"testing"

	"github.com/tensortap/tensortap/e2e/internal/program"
)

// TestTensorsThatAProgramSavedAreAnswered publishes what people save by hand, and finds the NaN in it.
func TestTensorsThatAProgramSavedAreAnswered(t *testing.T) {
	t.Parallel()
	const saved = "../../producers/tensorfiles/testdata/saved"
	u := program.Shared(t)
	publish := []string{"publish", "tensors", saved, "--run", "saved tensors"}
	for _, want := range []string{"of 6 steps of ranks", "6 of 6 steps of ranks were published before"} {
		if out := program.Run(t, u.Setting, publish...); out.Status != program.ExitSame || out.Stderr != "" || !strings.Contains(out.Stdout, want) {
			t.Errorf("%q lacks %q: %v", publish, want, out)
		}
	}
	u.Settle(t)
	if out := program.Run(t, u.Setting, "overflow", "saved tensors"); out.Status != program.ExitDiffers || !strings.Contains(out.Stdout, "nan_debug.0.debug") {
		t.Errorf("overflow: %v", out)
	}
	if out := program.Run(t, u.Setting, "compare", saved, saved); !strings.Contains(out.Stdout, "1 not finite, 18 equal") {
		t.Errorf("compare: %v", out)
	}
}
