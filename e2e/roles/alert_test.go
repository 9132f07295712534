package roles

import (
	"slices"
	"testing"

	"github.com/tensortap/tensortap/consumers/alerts/receiver"
	"github.com/tensortap/tensortap/e2e/internal/program"
	"github.com/tensortap/tensortap/internal/dev/recorded"
)

// TestAFleetIsToldThatItsTablesAreBehind stops who fills the tables, and kills who tells of that.
func TestAFleetIsToldThatItsTablesAreBehind(t *testing.T) {
	t.Parallel()
	s, h := startServers(t), &heard{t: t, folder: t.TempDir()}
	config := program.TextFile(t, "every: 1s\nreceivers:\n"+h.command()+"rules:\n  lag: {for: 0s, parameters: {lag_seconds: 1}}\n")
	tables := s.employ("tables", "stores events", "consume", "--store", "tables", "--clickhouse", s.engine.DSN)
	s.employ("archive", "stores events", "consume", "--store", "archive", "--archive-age", "100ms")
	alert := s.employ("alert", "", "alert", "--clickhouse", s.engine.DSN, "--config", config)
	if err := tables.up.Stop(); err != nil {
		t.Fatal(err)
	}
	s.command("publish", "msprobe", recorded.Unpack(t, "B00_golden_mix"), "--run", "waits")
	lag := plant{rule: "lag"}
	isLag := func(told tiding) bool { return told.about == lag && told.state == receiver.Firing }
	await(t, "to be told that the tables are behind", func() bool { return slices.ContainsFunc(h.commanded(), isLag) })
	alert.end()
	tables.begin()
	alert.begin()
	e := &engine{s.engine.DSN, s.engine.Open(t)}
	e.await(t, "the alert", "SELECT count() = 1 FROM tap.alerts WHERE rule = 'lag' AND labels['consumer'] = 'clickhouse'")
	e.await(t, "the run", "SELECT count() > 0 FROM tap.steps WHERE run_id = xxh3(concat('waits', char(31)))")
	if told := slices.DeleteFunc(h.commanded(), func(told tiding) bool { return !isLag(told) }); len(told) != 1 {
		t.Errorf("told of the lag: %v, want once", told)
	}
}
