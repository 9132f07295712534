package delivery

import (
	"context"
	"errors"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/tensortap/tensortap/e2e/internal/program"
	"github.com/tensortap/tensortap/internal/dev/network"
	"github.com/tensortap/tensortap/internal/dev/testbed"
)

// TestAnAgentThatIsCutOffLosesAndDoublesNothing pulls the cable of the host on which an agent serves two ranks, and puts it in again
// once the agent has given up its connection: within a minute.
func TestAnAgentThatIsCutOffLosesAndDoublesNothing(t *testing.T) {
	t.Parallel()
	cable := layCable(t)
	_, natsURL := separateNATSAt(t, cable.Here())
	u := program.StartUp(t, t.TempDir(), "--archive-age", "100ms", "--nats", natsURL)
	writers := newTwoWriters(t, "cut off")
	cmd := program.Command(t, program.Setting{Data: t.TempDir()}, "agent", "--spool", writers.root, "--nats", natsURL)
	if err := cable.Beyond(cmd); err != nil {
		t.Fatal(err)
	}
	agent := program.NewUp("", cmd)
	if err := agent.Begin(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = agent.Kill() })
	stored := func() int { return len(u.Query(t, "SELECT DISTINCT step FROM tap_store.tensor WHERE rank = 1")) }
	writers.write(5)
	if err := program.Await(program.Patience, "the first steps", func() bool { return stored() == 5 }); err != nil {
		t.Fatal(err)
	}

	if err := cable.Pull(t.Context()); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	gaveUp := func() bool {
		writers.write(1)
		time.Sleep(200 * time.Millisecond)
		return strings.Contains(agent.Stderr.String(), nats.ErrDisconnected.Error()) // it is told why nothing is published
	}
	if err := program.Await(program.Patience, "the agent to give up a connection that hears nothing", gaveUp); err != nil {
		t.Fatalf("%v: %s", err, agent.Stderr)
	}
	t.Logf("the connection was given up after %v", time.Since(began))
	if got := stored(); got != 5 {
		t.Errorf("%d steps came through a cable that is pulled", got)
	}
	if err := cable.Plug(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, s := range writers.writers {
		s.Close()
	}
	program.Served(t, writers.root)
	writers.requireAll(t, u, "cut off")
	if err := agent.Stop(); err != nil {
		t.Error(err)
	}
}

func layCable(tb testing.TB) *network.Cable {
	tb.Helper()
	cable, err := network.Lay(context.WithoutCancel(tb.Context()))
	switch {
	case errors.Is(err, exec.ErrNotFound):
		testbed.Needed(tb, "NOT TESTED: a cable that is pulled: "+err.Error())
	case err != nil: // a machine may forbid it to root, too
		tb.Skip("SKIPPED: a cable that is pulled: " + err.Error())
	}
	tb.Cleanup(func() {
		if err := cable.Close(); err != nil {
			tb.Error(err)
		}
	})
	return cable
}
