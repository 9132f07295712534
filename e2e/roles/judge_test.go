package roles

import (
	"fmt"
	"testing"
	"time"

	"github.com/tensortap/tensortap/e2e/internal/program"
	"github.com/tensortap/tensortap/internal/dev/recorded"
	"github.com/tensortap/tensortap/internal/dev/testbed"
	"github.com/tensortap/tensortap/schemas"
)

// requireRoles has agents and judges that know no more than the servers do their work, of which one after the other is killed.
func requireRoles(t *testing.T, f *fleet, e *engine) {
	t.Helper()
	spool := t.TempDir()
	agents := func() *program.Up {
		return start(t, t.TempDir(), "serving the processes below", append([]string{"agent", "--spool", spool}, f.servers(e)[:2]...)...)
	}
	agent := agents()
	for rank := range uint32(2) {
		live := testbed.NewSpool(t, spool, testbed.SpoolOptions{Run: "live", Rank: rank, Epoch: uint64(rank) + 1})
		live.Step(0, 2)
		live.Close()
		e.await(t, "a step of a live rank", fmt.Sprintf("SELECT count() = %d FROM tap_store.step WHERE run_id = %d", rank+1, schemas.RunID("live")))
		if err := agent.Kill(); err != nil {
			t.Fatal(err)
		}
		agent = agents()
	}
	judges := func() *program.Up {
		role := program.NewUp("", program.Command(t, program.Setting{Data: t.TempDir()}, append([]string{"judge"}, f.servers(e)...)...))
		if err := role.Begin(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = role.Kill() })
		return role
	}
	judge, other := judges(), judges()
	for run, dump := range map[string]string{"bad": "B02_weight_mix", "good": "B00_golden_mix"} {
		f.run(t, e, "publish", "msprobe", recorded.Unpack(t, dump), "--run", run)
	}
	f.run(t, e, "baseline", "set", "first", "--run", "good")
	e.await(t, "a comparison", judgedSteps+"tolerance != 0.5)")
	for _, role := range []*program.Up{judge, other} {
		if err := role.Kill(); err != nil {
			t.Fatal(err)
		}
	}
	f.run(t, e, "baseline", "set", "second", "--run", "good", "--tolerance", "0.5")
	judges()
	e.await(t, "a comparison after both judges' death", judgedSteps+"tolerance = 0.5)")
}

const judgedSteps = "SELECT count() > 0 FROM tap.judged_steps WHERE comparison_id IN (SELECT comparison_id FROM tap.declared_comparisons WHERE problem = 'bad' AND "

// run is a command that knows the servers alone.
func (f *fleet) run(tb testing.TB, e *engine, args ...string) {
	tb.Helper()
	out := program.Run(tb, program.Setting{Data: tb.TempDir()}, append(args, f.servers(e)...)...)
	if out.Status != 0 {
		tb.Fatalf("%v: %v", args, out)
	}
}

// await waits until a query answers that it is so.
func (e *engine) await(tb testing.TB, what, query string) {
	tb.Helper()
	await(tb, what+": "+query, func() bool {
		time.Sleep(50 * time.Millisecond)
		var so uint8
		return e.conn.QueryRow(tb.Context(), "SELECT toUInt8(("+query+"))").Scan(&so) == nil && so == 1
	})
}
