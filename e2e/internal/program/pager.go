package program

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tensortap/tensortap/consumers/alerts/receiver"
)

// Pager is a command that is told of alerts, and keeps what it reads.
type Pager struct{ Config, folder string }

// NewPager writes the configuration of alerts that has it told, with these rules off.
func NewPager(tb testing.TB, off ...string) *Pager {
	tb.Helper()
	p := &Pager{Config: filepath.Join(tb.TempDir(), "alerts.yaml"), folder: tb.TempDir()}
	rules := ""
	for i, rule := range off {
		if i == 0 {
			rules = "rules:\n"
		}
		rules += "  " + rule + ": {off: true}\n"
	}
	// A command whose teller is killed reads nothing, and is told again.
	const command = `cat > "$1/$$.new" && test -s "$1/$$.new" && mv "$1/$$.new" "$1/$$.json"`
	text := fmt.Sprintf("every: 1s\nlabels: {cluster: test}\nreceivers:\n  - name: pager\n    command: [sh, -c, '%s', sh, %q]\n%s", command, p.folder, rules)
	if err := os.WriteFile(p.Config, []byte(text), 0o600); err != nil {
		tb.Fatal(err)
	}
	return p
}

// Alerts are the changes of alerts that it was told of.
func (p *Pager) Alerts(tb testing.TB) []receiver.Alert {
	tb.Helper()
	files, err := filepath.Glob(filepath.Join(p.folder, "*.json"))
	if err != nil {
		tb.Fatal(err)
	}
	var alerts []receiver.Alert
	for _, file := range files {
		text, err := os.ReadFile(file) //nolint:gosec // of the test
		if err != nil {
			tb.Fatal(err)
		}
		var n receiver.Notification
		if err := json.Unmarshal(text, &n); err != nil {
			tb.Fatalf("%v: %s", err, text)
		}
		alerts = append(alerts, n.Alerts...)
	}
	return alerts
}

// Told has how often it was told of each change of alerts, as "firing first-divergence bad".
func (p *Pager) Told(tb testing.TB) map[string]int {
	tb.Helper()
	told := map[string]int{}
	for _, a := range p.Alerts(tb) {
		told[strings.Join([]string{a.State, a.Rule, a.Labels["run"]}, " ")]++
		if a.Labels["cluster"] != "test" || !strings.HasPrefix(a.Command, "tensortap ") {
			tb.Errorf("alert %+v", a)
		}
	}
	return told
}

// Await waits until it was told of these changes.
func (p *Pager) Await(tb testing.TB, alerts ...string) {
	tb.Helper()
	err := Await(5*time.Minute, fmt.Sprint("to be told ", alerts), func() bool {
		told := p.Told(tb)
		for _, alert := range alerts {
			if told[alert] == 0 {
				return false
			}
		}
		return true
	})
	if err != nil {
		tb.Fatalf("%v, told %v", err, p.Told(tb))
	}
}
