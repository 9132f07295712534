package agent_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/tensortap/tensortap/internal/dev/testbed"
	"github.com/tensortap/tensortap/producers/agent"
	"github.com/tensortap/tensortap/schemas"
)

// clocks are hours of a process's clock beside the agent's.
func clocks() map[string]time.Duration {
	return map[string]time.Duration{"an hour behind": -time.Hour, "the same": 0, "an hour ahead": time.Hour}
}

func TestAProcessIsServedToItsEndWhateverItsClockSays(t *testing.T) {
	t.Parallel()
	for name, off := range clocks() {
		for _, unlocked := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				const steps, modules = 60, 3
				root, l := t.TempDir(), newLog(t)
				s := testbed.NewSpool(t, root, testbed.SpoolOptions{Run: "bad", Epoch: 1, Started: time.Now().Add(off), Unlocked: unlocked})
				cfg := config(t, root, l)
				if unlocked { // all that shows its life is what it writes, however slow this machine is
					cfg.DeadAfter = 10 * time.Minute
				}
				step := uint32(0)
				serveUntil(t, cfg, func() bool {
					if step < steps {
						s.Head.HeartbeatNs = time.Now().Add(off).UnixNano()
						s.Step(step, modules)
						step++
						if step == steps {
							s.Close()
						}
						return false
					}
					return empty(t, root)()
				})
				onceEach(t, l, 1, steps, 2*modules)
			})
		}
	}
}

func TestAProcessThatDiedIsKnownToBeDeadWhateverItsClockSaid(t *testing.T) {
	t.Parallel()
	for name, off := range clocks() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root, l := t.TempDir(), newLog(t)
			s := testbed.NewSpool(t, root, testbed.SpoolOptions{Run: "bad", Epoch: 1, PID: deadPID(t), Started: time.Now().Add(off)})
			s.Step(0, 2)
			serveUntil(t, config(t, root, l), empty(t, root))
			if beats := rows[schemas.HeartbeatRow](l); len(beats) == 0 || beats[len(beats)-1].State != "died" {
				t.Errorf("signs of life %+v, want that it died", beats)
			}
			onceEach(t, l, 1, 1, 4)
		})
	}
}

func TestAProcessThatIsStoppedLivesAsLongAsItHoldsItsLock(t *testing.T) {
	t.Parallel()
	root, l := t.TempDir(), newLog(t)
	s := testbed.NewSpool(t, root, testbed.SpoolOptions{Run: "bad", Epoch: 1, Started: longAgo()})
	cfg := config(t, root, l)
	cfg.DeadAfter = time.Millisecond
	var looked time.Time
	looks := 0
	serveUntil(t, cfg, func() bool {
		if at, _ := s.Looked(); !at.Equal(looked) {
			looked = at
			looks++
		}
		return looks > 20
	})
	s.Step(0, 2)
	s.Close()
	serveUntil(t, cfg, empty(t, root))
	onceEach(t, l, 1, 1, 4)
}

func TestAProcessThatLostItsLockIsDeadAtOnce(t *testing.T) {
	t.Parallel()
	root, l := t.TempDir(), newLog(t)
	s := testbed.NewSpool(t, root, testbed.SpoolOptions{Run: "bad", Epoch: 1})
	s.Step(0, 2)
	cfg := config(t, root, l)
	cfg.DeadAfter = time.Hour
	serveUntil(t, cfg, func() bool {
		if len(rows[schemas.StepRow](l)) > 0 {
			s.Die()
		}
		return empty(t, root)()
	})
	onceEach(t, l, 1, 1, 4)
}

func TestSignsOfLifeHaveTheAgentsTimeWhereTheProcesssIsFarOff(t *testing.T) {
	t.Parallel()
	for name, off := range clocks() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const doing = 10 * time.Second
			root, l := t.TempDir(), newLog(t)
			begin := time.Now()
			s := testbed.NewSpool(t, root, testbed.SpoolOptions{Run: "bad", Epoch: 1, Started: begin.Add(off)})
			s.Head.CurrentOp, s.Head.CurrentTimeNs = s.Op("Torch.a.0.forward"), begin.Add(off-doing).UnixNano()
			s.WriteHead()
			cfg := config(t, root, l)
			cfg.HeartbeatEvery = time.Millisecond
			serveUntil(t, cfg, func() bool {
				s.Head.HeartbeatNs = time.Now().Add(off).UnixNano()
				s.WriteHead()
				return len(rows[schemas.HeartbeatRow](l)) > 3
			})
			again := agent.New(cfg) // which knows the offset from before
			runUntil(t, again, func() bool {
				answers := again.Ask(&agent.Request{RunID: schemas.RunID("bad"), Sequence: 5, Do: agent.DoPoke})
				return len(answers) == 1 && time.Duration(answers[0].NowNs-answers[0].HeartbeatNs).Abs() < 2*time.Minute
			})
			s.Close()
			serveUntil(t, cfg, empty(t, root))
			for _, r := range rows[schemas.HeartbeatRow](l) {
				if late := time.Unix(0, r.EventTimeNs).Sub(begin); late.Abs() > 2*time.Minute || r.SinceTimeNs == nil || r.EventTimeNs-*r.SinceTimeNs < doing.Nanoseconds() {
					t.Errorf("sign of life %+v, %v after the beginning by the agent's clock, want it within minutes and an op of %v", r, late, doing)
				}
			}
		})
	}
}

func TestAnAgentThatIsStartedDuringASilenceTakesItForNoClock(t *testing.T) {
	t.Parallel()
	const silence = time.Hour
	root, l := t.TempDir(), newLog(t)
	s := testbed.NewSpool(t, root, testbed.SpoolOptions{Run: "bad", Epoch: 1, Started: time.Now()})
	s.Head.HeartbeatNs = time.Now().UnixNano()
	s.WriteHead()
	last := s.Head.HeartbeatNs
	cfg := config(t, root, l)
	serveUntil(t, cfg, func() bool { return len(rows[schemas.HeartbeatRow](l)) > 0 })
	cfg.Now = func() time.Time { return time.Now().Add(silence) }
	cfg.HeartbeatEvery = time.Millisecond
	s.Step(0, 2) // it wrote without a sign
	serveUntil(t, cfg, func() bool { return len(rows[schemas.StepRow](l)) > 0 })
	for _, r := range rows[schemas.HeartbeatRow](l) {
		if r.EventTimeNs > last {
			t.Errorf("sign of life %v after the last that the process gave", time.Duration(r.EventTimeNs-last))
		}
	}
}

// A GPU's rows come after their step, and its end is committed then.
func TestAStepWhoseLastRowsNeverCameIsNotComplete(t *testing.T) {
	t.Parallel()
	root, l := t.TempDir(), newLog(t)
	s := testbed.NewSpool(t, root, testbed.SpoolOptions{Run: "bad", Epoch: 1, PID: deadPID(t), Started: longAgo()})
	s.Step(3, 1)
	s.Begin(4)
	s.Call("Torch.a.0.forward", "", 0, 0)
	s.Reserve(2) // of a tensor, and of the step's end
	s.Step(5, 1)
	s.Begin(6)
	serveUntil(t, config(t, root, l), empty(t, root))
	var found []string
	for _, step := range rows[schemas.StepRow](l) {
		found = append(found, fmt.Sprintf("%d: %d", step.Step, step.Complete))
	}
	if got, want := strings.Join(found, ", "), "3: 1, 4: 0, 5: 1, 6: 0"; got != want {
		t.Errorf("steps and whether they are complete: %s; want %s", got, want)
	}
}

func TestOnlyProcessesOfTheRunThatIsAskedForAreToldOf(t *testing.T) {
	t.Parallel()
	root, l := t.TempDir(), newLog(t)
	for i, run := range []string{"own", "another"} {
		s := testbed.NewSpool(t, root, testbed.SpoolOptions{Run: run, Epoch: uint64(i + 1)})
		s.Step(0, 1)
		s.Close()
	}
	var told testbed.Buffer
	cfg := config(t, root, l)
	cfg.Of, cfg.Tell = "own", func(text string) { _, _ = fmt.Fprintln(&told, text) }
	serveUntil(t, cfg, empty(t, root))
	if text := told.String(); !strings.Contains(text, "run own") || strings.Contains(text, "run another") {
		t.Errorf("told: %s", text)
	}
}
