package grafana_test

import (
	"testing"

	"github.com/tensortap/tensortap/internal/dev/testbed"
	"github.com/tensortap/tensortap/sql"
)

// timeRules asks the alert rules as the role does that asks them while both runs go on.
func timeRules(t *testing.T, d *testbed.Database) []timed {
	t.Helper()
	rules, err := sql.Rules()
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]string{"run": "problem", "current": "['problem','bench']", "now_ns": "1760000000000000000"}
	var all []timed
	for i := range rules {
		parameters := map[string]string{}
		for _, p := range rules[i].Parameters {
			if parameters[p.Name] = p.Default; known[p.Name] != "" {
				parameters[p.Name] = known[p.Name]
			}
		}
		all = append(all, fastest(t, "alert rule "+rules[i].Title(), func() error {
			d.Query(t, rules[i].Query, "", parameters) // ends the test if it cannot
			return nil
		}))
	}
	return all
}
