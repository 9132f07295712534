package agent_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tensortap/tensortap/internal/dev/testbed"
	"github.com/tensortap/tensortap/producers/agent"
)

// aged gives all files of a spool such a time, as if nobody had written there since.
func aged(t *testing.T, s *testbed.Spool, at time.Time) {
	t.Helper()
	s.Head.HeartbeatNs = at.UnixNano()
	s.WriteHead()
	files, err := filepath.Glob(filepath.Join(s.Dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if err := os.Chtimes(file, at, at); err != nil {
			t.Fatal(err)
		}
	}
}

func TestASpoolThatNobodyServesIsLetGoAfterItsTime(t *testing.T) {
	t.Parallel()
	root, now := t.TempDir(), time.Now()
	ages := map[string]time.Duration{"old": 31 * 24 * time.Hour, "young": 29 * 24 * time.Hour, "served": 40 * 24 * time.Hour, "stays": 50 * 24 * time.Hour}
	for i, run := range []string{"old", "young", "served", "stays"} {
		s := testbed.NewSpool(t, root, testbed.SpoolOptions{Run: run, Epoch: uint64(i + 1), PID: deadPID(t), Started: now.Add(-ages[run])}) //nolint:gosec // few
		s.Step(0, 2)
		aged(t, s, now.Add(-ages[run]))
		if run == "served" {
			holdLock(t, s.Dir)
		}
	}
	var told []string
	cfg := agent.DefaultConfig(root, func() time.Time { return now })
	cfg.Tell = func(text string) { told = append(told, text) }
	a := agent.New(cfg)
	over := func(s agent.Spool) bool { return s.Run != "stays" && now.Sub(s.Touched) > 30*24*time.Hour }
	for range 2 {
		if err := a.LetGo(over); err != nil {
			t.Fatal(err)
		}
	}
	var left []string
	spools, err := agent.Spools(root)
	for i := range spools {
		left = append(left, spools[i].Run)
	}
	slices.Sort(left)
	if err != nil || fmt.Sprint(left) != "[served stays young]" {
		t.Errorf("left are %v, %v", left, err)
	}
	if counts := a.Counts(); counts.LetGo.Load() != 1 || counts.LetGoBytes.Load() == 0 || len(told) != 1 || !strings.Contains(told[0], `of run "old" is let go`) {
		t.Errorf("counted %d of %d bytes, told %q", counts.LetGo.Load(), counts.LetGoBytes.Load(), told)
	}
	if names, _ := filepath.Glob(filepath.Join(root, "*.done")); len(names) > 0 {
		t.Errorf("half removed: %v", names)
	}
}

func TestASpoolThatIsWrittenToMeanwhileIsNotLetGo(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	s := testbed.NewSpool(t, root, testbed.SpoolOptions{Run: "back", Epoch: 1, PID: deadPID(t), Started: longAgo()})
	s.Step(0, 2)
	looks := 0
	over := func(agent.Spool) bool {
		looks++
		return looks == 1 // and its process writes before the lock is taken
	}
	a := agent.New(agent.DefaultConfig(root, time.Now))
	if err := a.LetGo(over); err != nil {
		t.Fatal(err)
	}
	if spools, err := agent.Spools(root); len(spools) != 1 || err != nil || looks != 2 {
		t.Errorf("after %d looks left are %v, %v", looks, spools, err)
	}
}

// holdLock is an agent elsewhere that serves the folder.
func holdLock(t *testing.T, folder string) {
	t.Helper()
	lock, err := os.OpenFile(filepath.Join(folder, "lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err == nil {
		err = syscall.Flock(int(lock.Fd()), syscall.LOCK_EX)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = lock.Close() })
}
