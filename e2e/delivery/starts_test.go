package delivery

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tensortap/tensortap/e2e/internal/program"
	"github.com/tensortap/tensortap/internal/dev/testbed"
	"github.com/tensortap/tensortap/schemas"
)

// awaitGenerations waits until the steps of a run that are stored have those epochs and generations.
func awaitGenerations(t *testing.T, u *program.Up, run, want string) {
	t.Helper()
	query := fmt.Sprintf("SELECT step, toString(epoch), generation FROM tap_store.step WHERE run_id = %d ORDER BY step, epoch", schemas.RunID(run))
	got := ""
	err := program.Await(2*time.Minute, want, func() bool { got = fmt.Sprint(u.Query(t, query)); return got == want })
	if err != nil {
		t.Fatalf("steps, epochs, generations of run %s: %s, want %s; up says %s", run, got, want, u.Stderr)
	}
}

func TestStartsOfLiveRanksThatTheStreamLostAreMadeAgain(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	u, root := program.StartUp(t, data), filepath.Join(data, "spool")
	gone := exec.CommandContext(t.Context(), "true")
	if err := gone.Run(); err != nil {
		t.Fatal(err)
	}
	testbed.NewSpool(t, root, testbed.SpoolOptions{Run: "died", Epoch: 11, PID: gone.Process.Pid, Started: time.Now().Add(-time.Hour)}).Step(0, 3)
	ended := testbed.NewSpool(t, root, testbed.SpoolOptions{Run: "ended", Epoch: 21})
	ended.Step(0, 3)
	ended.Close()
	lives := testbed.NewSpool(t, root, testbed.SpoolOptions{Run: "lives", Epoch: 31})
	lives.Step(0, 3)
	awaitGenerations(t, u, "died", "[[0 11 0]]")
	awaitGenerations(t, u, "ended", "[[0 21 0]]")
	awaitGenerations(t, u, "lives", "[[0 31 0]]")
	states := "SELECT toString(epoch), argMax(state, (event_time_ns, batch)) AS last FROM tap_store.heartbeat GROUP BY epoch ORDER BY epoch"
	if err := program.Await(2*time.Minute, "the last signs of life", func() bool {
		return fmt.Sprint(u.Query(t, states)) == "[[11 died] [21 ended] [31 running]]"
	}); err != nil {
		t.Fatalf("%v: %v", err, u.Query(t, states))
	}

	forgetClaims(t, u)
	healed(t, u, program.ExitSame, "healed: the stream's server knows again, from the tables: ", "how 3 live ranks started")
	mustStop(t, u)
	u = program.StartUp(t, data)
	lives.Step(1, 3)
	awaitGenerations(t, u, "lives", "[[0 31 0] [1 31 0]]") // is not refused
	again := testbed.NewSpool(t, root, testbed.SpoolOptions{Run: "died", Epoch: 12})
	again.Step(1, 3)
	again.Close()
	awaitGenerations(t, u, "died", "[[0 11 0] [1 12 1]]")
	testbed.NewSpool(t, root, testbed.SpoolOptions{Run: "ended", Epoch: 22}).Step(1, 3)
	const refused = "has ended, as epoch 0000000000000015; start under another name, or resume it"
	if err := program.Await(2*time.Minute, refused, func() bool { return strings.Contains(u.Stderr.String(), refused) }); err != nil {
		t.Errorf("%v: up says %s", err, u.Stderr)
	}
	awaitGenerations(t, u, "ended", "[[0 21 0]]")
}
