package delivery

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tensortap/tensortap/consumers/alerts/receiver"
	"github.com/tensortap/tensortap/e2e/internal/program"
	"github.com/tensortap/tensortap/internal/dev/recorded"
)

// pager is a command that is told of alerts, and keeps what it reads.
type pager struct{ config, folder string }

func newPager(t *testing.T) *pager {
	t.Helper()
	p := &pager{config: filepath.Join(t.TempDir(), "alerts.yaml"), folder: t.TempDir()}
	// The cases of package sql ask the rules that are off, which are about live runs.
	off := ""
	for _, rule := range []string{"dropped-events", "first-nan", "hang", "memory-growth", "straggler"} {
		off += "  " + rule + ": {off: true}\n"
	}
	// A command whose teller is killed reads nothing, and is told again.
	const command = `cat > "$1/$$.new" && test -s "$1/$$.new" && mv "$1/$$.new" "$1/$$.json"`
	text := fmt.Sprintf("every: 1s\nlabels: {cluster: test}\nreceivers:\n  - name: pager\n    command: [sh, -c, '%s', sh, %q]\nrules:\n%s", command, p.folder, off)
	if err := os.WriteFile(p.config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return p
}

// told has how often it was told of each change of alerts, as "firing first-divergence bad".
func (p *pager) told(t *testing.T) map[string]int {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(p.folder, "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	told := map[string]int{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var n receiver.Notification
		if err := json.Unmarshal(text, &n); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
		for _, a := range n.Alerts {
			told[strings.Join([]string{a.State, a.Rule, a.Labels["run"]}, " ")]++
			if a.Labels["cluster"] != "test" || !strings.HasPrefix(a.Command, "tensortap ") {
				t.Errorf("alert %+v", a)
			}
		}
	}
	return told
}

func (p *pager) await(t *testing.T, alerts ...string) {
	t.Helper()
	err := program.Await(2*time.Minute, fmt.Sprint("to be told ", alerts), func() bool {
		told := p.told(t)
		for _, alert := range alerts {
			if told[alert] == 0 {
				return false
			}
		}
		return true
	})
	if err != nil {
		t.Fatalf("%v, told %v", err, p.told(t))
	}
}

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
	p := newPager(t)
	data := t.TempDir()
	good, bad := recorded.Unpack(t, "B00_golden_mix"), recorded.Unpack(t, "B02_weight_mix")
	u := program.StartUp(t, data, "--alerts", p.config)
	u.Publish(t, good, "good")
	requireSaid(t, u.Setting, map[string]string{"baseline set nightly --run good": "is set"})
	u.Publish(t, good, "same")
	u.Publish(t, bad, "bad")
	p.await(t, "firing first-divergence bad", "firing baseline-verdict bad")
	if err := u.Kill(); err != nil {
		t.Fatal(err)
	}

	u = program.StartUp(t, data)
	roles := make([]*program.Up, 2)
	for i := range roles {
		roles[i] = program.NewUp(data, program.Command(t, u.Setting, "alert", "--config", p.config))
		if err := roles[i].Begin(); err != nil {
			t.Fatal(err)
		}
	}
	u.Publish(t, bad, "it's worse")
	p.await(t, "firing first-divergence it's worse")
	if err := roles[0].Kill(); err != nil {
		t.Fatal(err)
	}
	u.Publish(t, bad, "worst")
	p.await(t, "firing first-divergence worst", "firing baseline-verdict worst")

	for alert, times := range p.told(t) {
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
		"alert test first-divergence --config " + p.config:     "rule first-divergence, severity critical, for 0s: 3 would fire now",
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
