package delivery

import (
	"strings"
	"testing"

	"github.com/tensortap/tensortap/e2e/internal/program"
)

// wrongRow is a statement that changes one row of the tables behind the stream's back.
const wrongRow = "ALTER TABLE tap_store.tensor UPDATE value_max = 12345.5 WHERE (epoch, seq) IN (" +
	"SELECT epoch, seq FROM tap_store.tensor ORDER BY epoch, seq LIMIT 1) SETTINGS mutations_sync = 1"

func TestRebuildMendsAWrongRowAndSaysSo(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	u := program.StartUp(t, data, "--archive-age", "100ms")
	twoRuns(t, u)
	want := sums(t, u)
	for _, statement := range []string{
		wrongRow,
		"ALTER TABLE tap_store.run UPDATE seed = 7 WHERE name = 'bad' SETTINGS mutations_sync = 1", // it was null
		"TRUNCATE TABLE tap_store.stack",
		"CREATE DATABASE theirs",
		"CREATE TABLE theirs.tensor ENGINE = MergeTree ORDER BY tuple() AS SELECT 42 AS answer",
	} {
		program.Execute(t, u, statement)
	}
	mustStop(t, u)
	out := program.Run(t, u.Setting, "replay", "--rebuild")
	for _, said := range []string{"1 row of run of run bad", "1 batch of tensor of run ", " rows of stack"} {
		if out.Status != 0 || !strings.Contains(out.Stderr, said) {
			t.Errorf("replay --rebuild does not say %q: %v", said, out)
		}
	}
	u = program.StartUp(t, data, "--archive-age", "100ms")
	requireSums(t, u, want)
	left := u.Query(t, "SELECT (SELECT count() FROM system.databases WHERE name = 'tap_store_next'), (SELECT sum(answer) FROM theirs.tensor), (SELECT count() FROM tap.trend_steps WHERE state = 'wrong')")
	if got := strings.Join(left[0], " "); got != "0 42 0" {
		t.Errorf("databases left over, the answer of somebody else's table, wrong trends: %s, want 0 42 0", got)
	}
	mustStop(t, u)
	if out := program.Run(t, u.Setting, "replay", "--rebuild"); out.Status != 0 || out.Stderr != "" {
		t.Errorf("a rebuild of what the stream says: %v", out)
	}
}

func TestRebuildIsRefusedWhenTheStreamLacksADefinition(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	u := program.StartUp(t, data, "--archive-age", "100ms")
	twoRuns(t, u)
	program.Execute(t, u, "INSERT INTO tap_store.op (op_id, name) VALUES (1, 'of a message that was lost')")
	program.Execute(t, u, "INSERT INTO tap_store.rank (run_id, rank, epoch) SELECT run_id, 77, 1 FROM tap_store.run WHERE name = 'bad'")
	want := sums(t, u)
	mustStop(t, u)
	out := program.Run(t, u.Setting, "replay", "--rebuild")
	for _, said := range []string{"nothing was changed", "1 row of op", "1 row of rank of run bad"} {
		if out.Status != program.ExitError || !strings.Contains(out.Stderr, said) {
			t.Errorf("replay --rebuild does not say %q: %v", said, out)
		}
	}
	u = program.StartUp(t, data)
	requireSums(t, u, want)
	if n := u.Query(t, "SELECT count() FROM system.databases WHERE name = 'tap_store_next'")[0][0]; n != "0" {
		t.Error("the new tables are still there")
	}
}
