package soak

import (
	"fmt"
	"os"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/tensortap/tensortap/e2e/internal/program"
	"github.com/tensortap/tensortap/internal/dev/recorded"
	"github.com/tensortap/tensortap/internal/dev/testbed"
)

// The load: runs of live ranks follow each other, and folders are published beside them.
const (
	publishers = 2
	liveRanks  = 2  // of a run
	liveSteps  = 30 // of a run, a second each
	modules    = 40 // of a live model, with two tensors each
)

// load is what works while parts are killed.
type load struct {
	t       *testing.T
	parts   *parts
	roots   []string // of spools, a writer in each
	dumps   map[string]string
	account *account
	calm    sync.RWMutex // held by whoever works; its writer finds nobody at work
	runs    sync.RWMutex // held as long as a live run lasts
}

func newLoad(t *testing.T, p *parts, near, far string) *load {
	t.Helper()
	l := &load{t: t, parts: p, roots: []string{near, far, far}, dumps: map[string]string{}, account: newAccount()}
	for _, name := range []string{"D_ddp_golden", "B14_nan_l2_mlp_step1_mix", "A_llama_L1_md5"} {
		l.dumps[name] = recorded.Unpack(t, name)
	}
	return l
}

// references stores, undisturbed, each dump and the live run that others are held against.
func (l *load) references() {
	l.t.Helper()
	for name, dir := range l.dumps {
		l.parts.up.Publish(l.t, dir, name)
	}
	if err := l.live(nil, l.roots[0], bench, 0, time.Millisecond); err != nil {
		l.t.Fatal(err)
	}
	program.Served(l.t, l.roots[0])
	l.parts.up.Settle(l.t)
	out := program.Run(l.t, l.parts.setting, "baseline", "set", "soak", "--run", bench, "--match", "kind=live")
	if out.Status != 0 {
		l.t.Fatal(out)
	}
}

func (l *load) run(work *crew) {
	for writer, root := range l.roots {
		work.begin(func() error {
			for i := 0; !closed(work.over); i++ {
				run, fault := fmt.Sprintf("live %d.%d", writer, i), float32(i%3)*64
				if err := l.live(work.over, root, run, fault, time.Second); err != nil {
					return err
				}
			}
			return nil
		})
	}
	for publisher := range publishers {
		work.begin(func() error { return l.publish(work, publisher) })
	}
}

// live writes a run of several ranks into a root, a step at a time. When all is over, so is the run.
func (l *load) live(over <-chan struct{}, root, run string, fault float32, rest time.Duration) error {
	l.runs.RLock()
	defer l.runs.RUnlock()
	owner := &testbed.Keeper{TB: l.t}
	defer owner.End()
	var ranks []*testbed.Spool
	for rank := range uint32(liveRanks) {
		fields := map[string]any{"world_size": liveRanks, "labels": map[string]string{"kind": "live"}}
		s := testbed.NewSpool(owner, root, testbed.SpoolOptions{Run: run, Rank: rank, Epoch: l.account.epoch(), SegmentRows: 4096, Fields: fields})
		if fault != 0 {
			s.Fault("Module.layers.1.Linear.forward.0", fault)
		}
		ranks = append(ranks, s)
	}
	for step := uint32(0); step < liveSteps && (step == 0 || !closed(over)); step++ {
		l.calm.RLock()
		for _, s := range ranks {
			s.Step(step, modules)
			l.account.wrote(run, step, fault)
		}
		l.calm.RUnlock()
		pause(over, rest)
	}
	for _, s := range ranks {
		s.Close()
	}
	return owner.Err()
}

// publish stores dumps as new runs. Each publisher is asked again until it is through.
func (l *load) publish(work *crew, publisher int) error {
	names := []string{"D_ddp_golden", "B14_nan_l2_mlp_step1_mix", "A_llama_L1_md5"}
	for i := 0; !closed(work.over); i++ {
		name := names[(i+publisher)%len(names)]
		run := fmt.Sprintf("folder %d.%d", publisher, i)
		l.calm.RLock()
		err := l.untilWhole(work, name, run)
		l.calm.RUnlock()
		if err != nil {
			return err
		}
		pause(work.over, 2*time.Second)
	}
	return nil
}

func (l *load) untilWhole(work *crew, name, run string) error {
	l.account.published(run, name)
	const patience = 15 * time.Minute
	for deadline := time.Now().Add(patience); time.Now().Before(deadline) && !work.failed.Load(); {
		whole, err := l.attempt(l.dumps[name], run)
		if whole || err != nil {
			return err
		}
	}
	return fmt.Errorf("publish %s: not whole after %v", run, patience)
}

// attempt publishes until done, or killed.
func (l *load) attempt(dir, run string) (whole bool, err error) {
	p := l.parts.process("publish", "msprobe", dir, "--run", run)
	if err := p.Begin(); err != nil {
		return false, err
	}
	l.parts.mutex.Lock()
	l.parts.publishers[p] = true
	l.parts.mutex.Unlock()
	<-p.Ended
	l.parts.mutex.Lock()
	delete(l.parts.publishers, p)
	l.parts.mutex.Unlock()
	status, ok := p.Cmd.ProcessState.Sys().(syscall.WaitStatus)
	switch {
	case ok && status.Signaled() && status.Signal() == syscall.SIGKILL:
		return false, nil
	case p.Cmd.ProcessState.ExitCode() == 0:
		return true, nil
	case program.SystemAway(p.Stderr.String()):
		time.Sleep(50 * time.Millisecond)
		return false, nil
	}
	return false, fmt.Errorf("publish %s: %v: %s%s", run, p.Cmd.ProcessState, p.Stdout, p.Stderr)
}

// mountSmall gives a root of spools a small disk, where that is allowed.
func mountSmall(t *testing.T, dir string) bool {
	t.Helper()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "mode=0700,size=128m"); err != nil {
		t.Logf("NOT TESTED: a full disk under the spool: %v", err)
		return false
	}
	t.Cleanup(func() {
		_ = os.Remove(dir + "/ballast")
		_ = syscall.Unmount(dir, syscall.MNT_DETACH)
	})
	return true
}
