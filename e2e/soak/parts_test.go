package soak

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/tensortap/tensortap/e2e/internal/program"
	"github.com/tensortap/tensortap/internal/dev/testbed"
)

// victims are killed by turns; up, whose start costs most, once in ten.
var victims = []string{ //nolint:gochecknoglobals // names
	"publisher", "agent", "judge", "engine", "publisher", "agent", "judge", "engine", "publisher", "up",
}

// parts are the processes of the system.
type parts struct {
	t       *testing.T
	setting program.Setting
	far     string

	mutex            sync.Mutex
	up, agent, judge *program.Up
	publishers       map[*program.Up]bool // that run
	kills            map[string]int
	turn             int
	noEngine         bool  // the database is away on purpose
	goroutines       []int // of each up that was asked as it was killed
}

func startParts(t *testing.T, setting program.Setting, far string) *parts {
	t.Helper()
	p := &parts{t: t, setting: setting, far: far, publishers: map[*program.Up]bool{}, kills: map[string]int{}}
	t.Cleanup(func() {
		for _, part := range []*program.Up{p.up, p.agent, p.judge} {
			if part != nil {
				_ = part.Kill()
			}
		}
	})
	if err := errors.Join(p.startUp(), p.startAgent(), p.startJudge()); err != nil {
		t.Fatal(err)
	}
	return p
}

func (p *parts) process(args ...string) *program.Up {
	return program.NewUp(p.setting.Data, program.Command(p.t, p.setting, args...))
}

func (p *parts) startUp() error {
	up := p.process("up", "--archive-age", "5s")
	err := up.Start()
	p.set(&p.up, up)
	return err
}

func (p *parts) startAgent() error {
	agent := p.process("agent", "--spool", p.far)
	p.set(&p.agent, agent)
	return agent.Begin()
}

func (p *parts) startJudge() error {
	judge := p.process("judge")
	p.set(&p.judge, judge)
	return judge.Begin()
}

func (p *parts) set(part **program.Up, now *program.Up) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	*part = now
}

// running are the processes to be measured, by name.
func (p *parts) running() map[string]int {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	pids := map[string]int{}
	for name, part := range map[string]*program.Up{"up": p.up, "agent": p.agent, "judge": p.judge} {
		if part != nil && part.Cmd.Process != nil {
			pids[name] = part.Cmd.Process.Pid
		}
	}
	if engines := program.ChildrenOf(pids["up"]); len(engines) > 0 {
		pids["engine"] = engines[0]
	}
	return pids
}

func (p *parts) total() int {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	n := 0
	for _, kills := range p.kills {
		n += kills
	}
	return n
}

// String lists the kills.
func (p *parts) String() string {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	var said []string
	for _, name := range []string{"publisher", "agent", "judge", "engine", "up"} {
		said = append(said, fmt.Sprint(p.kills[name], " ", name))
	}
	return strings.Join(said, ", ")
}

func (p *parts) killed(name string) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.kills[name]++
}

// killOne kills the next part and starts it again; one that is just not there is passed over.
func (p *parts) killOne(over <-chan struct{}, random *rand.Rand) error {
	victim := victims[p.turn%len(victims)]
	p.turn++
	switch {
	case victim == "publisher":
		return p.killPublisher(over)
	case victim == "agent":
		return p.replace(victim, p.agent, p.startAgent)
	case victim == "judge":
		return p.replace(victim, p.judge, p.startJudge)
	case p.noEngine:
		return nil // its system could not start again
	case victim == "engine":
		return p.killEngine()
	default:
		return p.killUp(random)
	}
}

// replace kills a part and starts another. One that ended by itself did so because the system was away.
func (p *parts) replace(name string, part *program.Up, start func() error) error {
	select {
	case <-part.Ended:
		if !program.SystemAway(part.Stderr.String()) {
			return fmt.Errorf("the %s ended by itself: %v\n%s", name, part.Cmd.ProcessState, part.Stderr)
		}
	default:
		if err := part.Kill(); err != nil {
			return fmt.Errorf("kill the %s: %w", name, err)
		}
		p.killed(name)
	}
	return start()
}

// killPublisher kills one, as soon as one runs.
func (p *parts) killPublisher(over <-chan struct{}) error {
	for deadline := time.Now().Add(10 * time.Second); !closed(over) && time.Now().Before(deadline); pause(over, time.Millisecond) {
		p.mutex.Lock()
		for publisher := range p.publishers {
			delete(p.publishers, publisher)
			p.mutex.Unlock()
			if publisher.Cmd.Process.Kill() == nil {
				p.killed("publisher")
			}
			return nil
		}
		p.mutex.Unlock()
	}
	return nil
}

func (p *parts) killEngine() error {
	before := p.running()["engine"]
	if before == 0 {
		return nil // just restarting
	}
	if err := syscall.Kill(before, syscall.SIGKILL); err != nil {
		return fmt.Errorf("kill the engine: %w", err)
	}
	p.killed("engine")
	return program.Await(2*time.Minute, "another engine after it was killed", func() bool {
		now := p.running()["engine"]
		return now != 0 && now != before
	})
}

// killUp kills the whole system and starts it again. Now and then it is first asked for its goroutines, which ends it too.
func (p *parts) killUp(random *rand.Rand) error {
	engines := program.ChildrenOf(p.up.Cmd.Process.Pid)
	if random.IntN(2) == 0 {
		_ = p.up.Cmd.Process.Signal(syscall.SIGQUIT)
		<-p.up.Ended
		p.goroutines = append(p.goroutines, strings.Count(p.up.Stderr.String(), "\ngoroutine "))
	} else if err := p.up.Kill(); err != nil {
		return fmt.Errorf("kill up: %w", err)
	}
	p.killed("up")
	return errors.Join(awaitEnd(engines), p.startUp())
}

func awaitEnd(pids []int) error {
	for _, pid := range pids {
		gone := func() bool { return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) || program.Zombie(pid) }
		if err := program.Await(time.Minute, fmt.Sprintf("the end of the killed system's engine, process %d", pid), gone); err != nil {
			return err
		}
	}
	return nil
}

// lastLines is the end of what a process said.
func lastLines(said *testbed.Buffer) string {
	text := said.String()
	return text[max(0, len(text)-4000):]
}
