package answers

import (
	"strings"
	"testing"

	"github.com/tensortap/tensortap/e2e/internal/program"
)

// TestTheRankThatLeftOutACollectiveIsNamedByTheFlightRecorder publishes what gloo's Flight Recorder wrote while two ranks
// waited for the third.
func TestTheRankThatLeftOutACollectiveIsNamedByTheFlightRecorder(t *testing.T) {
	t.Parallel()
	u := program.Shared(t)
	publish := []string{"publish", "flight-recorder", "../../producers/flightrecorder/testdata/pickle", "--run", "stuck"}
	for _, want := range []string{"published ", "3 of 3 steps of ranks were published before"} {
		if out := program.Run(t, u.Setting, publish...); out.Status != program.ExitSame || out.Stderr != "" || !strings.Contains(out.Stdout, want) {
			t.Errorf("%q lacks %q: %v", publish, want, out)
		}
	}
	u.Settle(t)
	out := program.Run(t, u.Setting, "report", "hang", "--run", "stuck", "--output", "csv")
	rows := program.ParseCSV(t, out.Stdout)
	if len(rows) != 2 || !strings.HasPrefix(strings.Join(rows[1], "|"), "default_pg|3|all_reduce|not arrived|2|0 1|") || !strings.Contains(out.Stdout, "make.py") {
		t.Errorf("report hang: %v", out)
	}
}
