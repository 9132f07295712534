package delivery

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tensortap/tensortap/e2e/internal/program"
	"github.com/tensortap/tensortap/internal/dev/recorded"
)

// requireSaid runs commands, each of which ends with status 0 and says so much.
func requireSaid(t *testing.T, s program.Setting, said map[string]string) {
	t.Helper()
	for args, want := range said {
		if out := program.Run(t, s, strings.Fields(args)...); out.Status != 0 || !strings.Contains(out.Stdout, want) {
			t.Errorf("%s: %v, want %q", args, out, want)
		}
	}
}

// TestAlertsAreToldWhateverIsKilled plants runs that differ from a baseline, and kills the system, and then an alert role
// beside another.
func TestAlertsAreToldWhateverIsKilled(t *testing.T) {
	t.Parallel()
	// The cases of package sql ask the rules that are off, which are about live runs.
	p := program.NewPager(t, "dropped-events", "first-nan", "hang", "memory-growth", "straggler")
	data := t.TempDir()
	good, bad := recorded.Unpack(t, "B00_golden_mix"), recorded.Unpack(t, "B02_weight_mix")
	u := program.StartUp(t, data, "--alerts", p.Config)
	u.Publish(t, good, "good")
	requireSaid(t, u.Setting, map[string]string{"baseline set nightly --run good": "is set"})
	u.Publish(t, good, "same")
	u.Publish(t, bad, "bad")
	p.Await(t, "firing first-divergence bad", "firing baseline-verdict bad")
	if err := u.Kill(); err != nil {
		t.Fatal(err)
	}

	u = program.StartUp(t, data)
	roles := make([]*program.Up, 2)
	for i := range roles {
		roles[i] = program.NewUp(data, program.Command(t, u.Setting, "alert", "--config", p.Config))
		if err := roles[i].Begin(); err != nil {
			t.Fatal(err)
		}
	}
	u.Publish(t, bad, "it's worse")
	p.Await(t, "firing first-divergence it's worse")
	if err := roles[0].Kill(); err != nil {
		t.Fatal(err)
	}
	u.Publish(t, bad, "worst")
	p.Await(t, "firing first-divergence worst", "firing baseline-verdict worst")

	for alert, times := range p.Told(t) {
		if times > 2 || strings.HasSuffix(alert, " same") { // twice where a kill came between telling and noting it
			t.Errorf("told %d times: %s", times, alert)
		}
	}
	rows := u.Query(t, "SELECT rule, run_name, count() FROM tap_store.alert FINAL WHERE rule IN ('first-divergence', 'baseline-verdict') GROUP BY rule, run_name ORDER BY rule, run_name")
	if got, want := fmt.Sprint(rows), "[[baseline-verdict bad 1] [baseline-verdict it's worse 1] [baseline-verdict worst 1] [first-divergence bad 1] [first-divergence it's worse 1] [first-divergence worst 1]]"; got != want {
		t.Errorf("stored %s, want %s", got, want)
	}
	requireSaid(t, u.Setting, map[string]string{
		"alert list": "run worst differs from good since step 0: it begins at rank 0, op Functional.linear.20.forward",
		"alert test first-divergence --config " + p.Config:     "rule first-divergence, severity critical, for 0s: 3 would fire now",
		"alert silence set run=worst --for 1h --because known": "is set until",
	})
	out := program.Run(t, u.Setting, "alert", "silence", "list")
	id, _, _ := strings.Cut(out.Stdout, " ")
	requireSaid(t, u.Setting, map[string]string{"alert silence remove " + id: "is removed"})
	if err := roles[1].Stop(); err != nil {
		t.Error(err)
	}
	if said := u.Stderr.String() + roles[0].Stderr.String() + roles[1].Stderr.String(); strings.Contains(said, "no answer") {
		t.Errorf("a rule could not be asked:\n%s", said)
	}
}
