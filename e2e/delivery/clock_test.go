package delivery

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tensortap/tensortap/e2e/internal/program"
	"github.com/tensortap/tensortap/internal/dev/testbed"
	"github.com/tensortap/tensortap/schemas"
)

func TestARunIsRunningAndThenDiedWhateverTheClockOfItsProcessSays(t *testing.T) {
	t.Parallel()
	u := program.Shared(t)
	for run, off := range map[string]time.Duration{"an hour behind": -time.Hour, "an hour ahead": time.Hour} {
		epoch := schemas.RunID(run)
		t.Run(run, func(t *testing.T) {
			t.Parallel()
			s := testbed.NewSpool(t, filepath.Join(u.Data, "spool"), testbed.SpoolOptions{Run: run, Epoch: epoch, Started: time.Now().Add(off)})
			s.Step(0, 3)
			shown := func(want string) {
				t.Helper()
				var out program.Outcome
				if err := program.Await(time.Minute, "the run to be "+want, func() bool {
					s.Head.HeartbeatNs = time.Now().Add(off).UnixNano()
					s.WriteHead()
					out = program.Run(t, u.Setting, "query", "--output", "csv", "SELECT status FROM tap.runs WHERE name = '"+run+"'")
					return strings.Contains(out.Stdout, want)
				}); err != nil {
					t.Fatalf("%v: %v", err, out)
				}
			}
			shown("running")
			// Less than the hours that the clocks are apart, and more than the programs before take to start.
			ranks := program.Run(t, u.Setting, "report", "ranks", "--run", run, "--silent-seconds", "1200")
			if !strings.Contains(ranks.Stdout, "running") || strings.Contains(ranks.Stdout, "silent") {
				t.Errorf("report ranks: %v, want that it runs", ranks)
			}
			s.Die()
			shown("died")
		})
	}
}
