package page

import (
	"path/filepath"
	"testing"

	"github.com/tensortap/tensortap/e2e/internal/program"
	"github.com/tensortap/tensortap/e2e/internal/torch"
)

// recordTrouble stores a run with raw tensors and logs that lives, the same with another weight and a rank that dies, a hang
// and requests.
func recordTrouble(t *testing.T, u *program.Up) {
	t.Helper()
	ranks, err := filepath.Abs("../scene/testdata")
	if err != nil {
		t.Fatal(err)
	}
	for name, more := range map[string][]string{"lives": nil, "dies": {"WRONG=1", "DIES=2"}} {
		s := u.Setting
		s.Env = append([]string{"PYTHONPATH=" + ranks, "TENSORTAP_SPOOL=" + t.TempDir()}, more...)
		out := program.Run(t, s, "run", "--run", name, "--task", "tensor", "--level", "mix", "--steps", "0-4", "--", torch.Python(t), "testdata/dies.py")
		if died := len(more) > 0; out.Status != 0 != died {
			t.Fatalf("run %s: %v", name, out)
		}
	}
	for _, args := range [][]string{
		{"flight-recorder", "../../producers/flightrecorder/testdata/pickle", "--run", "stuck"},
		{"requests", "../../producers/requests/testdata/request_log.json.log", "--run", "served"},
	} {
		if out := program.Run(t, u.Setting, append([]string{"publish"}, args...)...); out.Status != 0 {
			t.Fatalf("publish %q: %v", args, out)
		}
	}
}
