package attack

import (
	"errors"
	"fmt"
	"net/url"
	"os/exec"
	"strings"
	"testing"

	"github.com/tensortap/tensortap/e2e/internal/program"
)

// TestAnotherUserAsksNoRank has another user of the machine ask ranks of a run to stop, to show stacks or values, by the victim's folder and by the
// addresses of its servers, and send the signal that has a rank capture.
func TestAnotherUserAsksNoRank(t *testing.T) {
	t.Parallel()
	u := victim(t)
	if said, err := common.command("runs").CombinedOutput(); err != nil {
		t.Fatalf("the victim itself: %v\n%s", err, said) // else what follows shows nothing
	}
	stream, err := url.Parse(u.Endpoint.NATS)
	if err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"runs"}, {"stop", "--run", "r"}, {"poke", "--run", "r"}, {"capture", "--run", "r", "--steps", "1"}} {
		for where, more := range map[string][]string{"permission denied": nil, "Authorization Violation": {"--nats", "nats://" + stream.Host, "--clickhouse", "http://127.0.0.1:1"}} {
			cmd := common.command(append(args, more...)...)
			cmd.SysProcAttr = as(strangerID)
			if more != nil {
				cmd.Env = append(cmd.Env, "TENSORTAP_DATA=/nonexistent")
			}
			said, err := cmd.CombinedOutput()
			if exit := (*exec.ExitError)(nil); !errors.As(err, &exit) || exit.ExitCode() != program.ExitError || !strings.Contains(string(said), where) {
				t.Errorf("another user's %v: %v, want it refused: %s\n%s", append(args, more...), err, where, said)
			}
		}
	}
	for _, pid := range processes(t, u) {
		kill := exec.CommandContext(t.Context(), "kill", "-USR1", fmt.Sprint(pid)) //nolint:gosec // of the test
		kill.SysProcAttr = as(strangerID)
		if kill.Run() == nil {
			t.Errorf("another user sends process %d a signal", pid)
		}
	}
}
