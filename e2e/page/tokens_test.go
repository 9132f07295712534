package page

import (
	"path/filepath"
	"testing"

	"github.com/tensortap/tensortap/e2e/internal/program"
	"github.com/tensortap/tensortap/e2e/internal/torch"
)

// recordTokens reads sequences as a batch, and alone with positions that are off by one behind the prompt; and trains with a rollout
// that an update does not reach.
func recordTokens(t *testing.T, u *program.Up) {
	t.Helper()
	root := filepath.Join(u.Data, "spool")
	for _, script := range [][]string{{"token_rows.py", "batch", "shifted"}, {"rl_loop.py", "unsynchronised"}} {
		script[0] = filepath.Join("..", "..", "e2e", "collector", "testdata", script[0])
		if out, err := torch.Collecting(t, root, script...).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	program.Served(t, root)
}
