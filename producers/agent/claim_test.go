package agent_test

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
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

func TestARootThatIsHeldWithoutANameIsLeftAlone(t *testing.T) {
	t.Parallel()
	for name, content := range map[string]string{"empty": "", "cut short": `{"pid":1,"data":"/da`, "no owner": "{}"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root, l, told := t.TempDir(), newLog(t), &tellings{}
			s := testbed.NewSpool(t, root, testbed.SpoolOptions{Run: "bad", Epoch: 1})
			s.Step(0, 2)
			s.Close()
			letGo := holdAs(t, root, content)
			cfg := ownedBy(t, root, l, "second", told)
			if err, ok := errors.AsType[*agent.HeldError](agent.New(cfg).Run(t.Context())); !ok || err.Owner != (agent.Owner{}) || !strings.Contains(err.Error(), "not known whose") {
				t.Fatalf("Run = %v, want that it is not known who holds the root", err)
			}
			cfg.Patient = true
			serveUntil(t, cfg, func() bool {
				if told.count("not known whose") > 0 {
					letGo()
				}
				return processes(t, root) == 0
			})
			onceEach(t, l, 1, 1, 4)
		})
	}
}

// holdAs holds the root as an agent does, with that content in its file.
func holdAs(tb testing.TB, root, content string) (letGo func()) {
	tb.Helper()
	file, err := os.OpenFile(filepath.Join(root, "owner"), os.O_RDWR|os.O_CREATE, 0o600)
	if err == nil {
		_, err = file.WriteString(content)
	}
	if err == nil {
		err = syscall.Flock(int(file.Fd()), syscall.LOCK_SH|syscall.LOCK_NB)
	}
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = file.Close() })
	return func() { _ = file.Close() }
}

func TestNobodyIsToldToStopAProcessThatHasEnded(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	cfg := ownedBy(t, root, newLog(t), "first", &tellings{})
	cfg.Owner.PID = deadPID(t)
	first := agent.New(cfg)
	if err := first.Take(); err != nil {
		t.Fatal(err)
	}
	err := agent.New(ownedBy(t, root, newLog(t), "second", &tellings{})).Run(t.Context())
	if held, ok := errors.AsType[*agent.HeldError](err); !ok || held.Owner.PID != 0 || !strings.Contains(err.Error(), "an agent for the system on /data/first") {
		t.Errorf("Run = %v, want that an agent of the system on /data/first reads the root, and no process", err)
	}
	runtime.KeepAlive(first) // its file holds the root
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
