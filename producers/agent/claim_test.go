package agent_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tensortap/tensortap/internal/dev/testbed"
	"github.com/tensortap/tensortap/producers/agent"
	"github.com/tensortap/tensortap/schemas"
)

// ownedBy is an agent's configuration for a stream of that name.
func ownedBy(tb testing.TB, root string, l *log, stream string, told *tellings) agent.Config {
	tb.Helper()
	cfg := config(tb, root, l)
	cfg.Tell, cfg.Owner = told.add, agent.Owner{PID: os.Getpid(), Data: "/data/" + stream, Stream: stream}
	return cfg
}

func TestARootThatAnotherSystemReadsIsLeftToItAsLongAsThatRuns(t *testing.T) {
	t.Parallel()
	root := filepath.Join(t.TempDir(), "not made yet")
	firsts, seconds, told := newLog(t), newLog(t), &tellings{}
	first := agent.New(ownedBy(t, root, firsts, "first", &tellings{}))
	if err := first.Take(); err != nil {
		t.Fatal(err)
	}
	err := agent.New(ownedBy(t, root, seconds, "second", told)).Run(t.Context())
	held, ok := errors.AsType[*agent.HeldError](err)
	if !ok || held.Root != root || held.Owner.PID != os.Getpid() || held.Owner.Data != "/data/first" || !strings.Contains(err.Error(), "--spool or TENSORTAP_SPOOL") {
		t.Fatalf("Run = %v, want that the system on /data/first reads %s", err, root)
	}
	patient := ownedBy(t, root, seconds, "second", told)
	patient.Patient = true
	begin := func(epoch uint64) {
		s := testbed.NewSpool(t, root, testbed.SpoolOptions{Run: "of the first", Epoch: epoch})
		s.Step(0, 2)
		s.Close()
	}
	begin(1)
	serveUntil(t, patient, func() bool { return told.count("is read by process") > 0 })
	if n := len(rows[schemas.RunRow](seconds)); n != 0 {
		t.Errorf("%d runs go to the second system while the first reads the root", n)
	}
	runUntil(t, first, func() bool { return processes(t, root) == 0 })
	onceEach(t, firsts, 1, 1, 4)
	begin(2)
	serveUntil(t, patient, func() bool { return processes(t, root) == 0 })
	onceEach(t, seconds, 1, 1, 4)
	if n := told.count("is read by process"); n != 1 {
		t.Errorf("told %d times that another system reads the root, want once: %q", n, told.lines)
	}
}

func TestAgentsOfOneStreamReadOneRootTogether(t *testing.T) {
	t.Parallel()
	root, l := t.TempDir(), newLog(t)
	one, other := agent.New(ownedBy(t, root, l, "shared", &tellings{})), agent.New(ownedBy(t, root, l, "shared", &tellings{}))
	for _, a := range []*agent.Agent{one, other, one} {
		if err := a.Take(); err != nil {
			t.Fatal(err)
		}
	}
}

// processes is how many processes have a folder below the root.
func processes(tb testing.TB, root string) int {
	tb.Helper()
	folders, err := filepath.Glob(filepath.Join(root, "*-*"))
	if err != nil {
		tb.Fatal(err)
	}
	return len(folders)
}
