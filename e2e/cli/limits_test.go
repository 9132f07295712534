package cli

import (
	"errors"
	"os/exec"
	"strings"
	"testing"

	"github.com/tensortap/tensortap/e2e/internal/program"
)

// TestALimitThatIsTooLowIsNamedAtTheStart starts what runs for long under limits with which it cannot work.
func TestALimitThatIsTooLowIsNamedAtTheStart(t *testing.T) {
	t.Parallel()
	for _, command := range []string{"up", "consume --nats nats://127.0.0.1:1 --clickhouse http://127.0.0.1:1", "agent --nats nats://127.0.0.1:1", "run --run limited -- true"} {
		for _, limit := range []string{"-n 64", "-v 2000000", "-f 1000"} {
			t.Run(strings.Fields(command)[0]+" "+limit, func(t *testing.T) {
				t.Parallel()
				data := t.TempDir()
				cmd := exec.CommandContext(t.Context(), "bash", "-c", "ulimit "+limit+" && exec "+program.Path(t)+" "+command) //nolint:gosec // built by us
				cmd.Env = program.Setting{Data: data}.Environment(t)
				said, err := cmd.CombinedOutput()
				var ended *exec.ExitError
				if !errors.As(err, &ended) || ended.ExitCode() != program.ExitError || !strings.Contains(string(said), "ulimit "+limit[:2]) {
					t.Errorf("%v\n%s", err, said)
				}
			})
		}
	}
}
