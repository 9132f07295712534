package roles

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tensortap/tensortap/e2e/internal/program"
	"github.com/tensortap/tensortap/e2e/internal/servers"
	"github.com/tensortap/tensortap/internal/dev/natscluster"
)

// staff is the parts of a fleet, each of which may die.
type staff struct {
	t        *testing.T
	nats     *natscluster.Node
	engine   *servers.Engine
	roles    []*role
	parts    []*mortal
	roots    []string      // of the spools, by host
	archive  string        // folder
	data     string        // folder of folders of the roles
	lifetime time.Duration // of a run after its end
	again    int           // roles that were started again as a server was away when they began
}

// mortal is a part that dies as by kill -9, and begins again.
type mortal struct {
	name       string
	end, begin func()
	times      []time.Time // of its deaths
}

func (m *mortal) die() {
	m.times = append(m.times, time.Now())
	m.end()
	m.begin()
}

// role is a process of tensortap.
type role struct {
	t    *testing.T
	name string
	dir  string
	said string // once it is ready
	args []string
	up   *program.Up
}

// begin returns once the process is at work, or has ended as a server is away.
func (r *role) begin() {
	r.up = program.NewUp(r.dir, program.Command(r.t, program.Setting{Data: r.dir}, r.args...))
	if err := r.up.Begin(); err != nil {
		r.t.Fatal(err)
	}
	ready := func() bool { return !r.lives() || strings.Contains(r.up.Stdout.String()+r.up.Stderr.String(), r.said) }
	if err := program.Await(program.Patience, r.name, ready); err != nil {
		r.t.Fatalf("%v: %s", err, r.words())
	}
}

func (r *role) lives() bool {
	select {
	case <-r.up.Ended:
		return false
	default:
		return true
	}
}

// end kills the process.
func (r *role) end() { _ = r.up.Kill() }

func (r *role) words() string {
	const last = 4000
	text := r.up.Stdout.String() + r.up.Stderr.String()
	return text[max(0, len(text)-last):]
}

// startServers starts what all roles need.
func startServers(t *testing.T) *staff {
	t.Helper()
	s := &staff{t: t, nats: natscluster.StartOne(t), engine: servers.NewEngine(t), data: t.TempDir()}
	s.engine.Start(t)
	s.parts = []*mortal{
		{name: "nats", end: func() { s.nats.End(t, os.Kill) }, begin: func() { s.nats.Start(t) }},
		{name: "engine", end: s.killEngine, begin: func() { s.engine.Start(t) }},
	}
	t.Cleanup(func() {
		for _, r := range s.roles {
			_ = r.up.Kill()
		}
		_ = s.engine.Process.Kill()
	})
	return s
}

// hire starts all parts of a month.
func hire(t *testing.T, day time.Duration, h *heard) *staff {
	t.Helper()
	s := startServers(t)
	// Rules have whole minutes.
	s.lifetime = max(time.Minute, (keptDays * day).Round(time.Minute))
	rules := program.TextFile(t, fmt.Sprintf("rules:\n  - runs: train-*\n    delete_after: %.0fm\n", s.lifetime.Minutes()))
	s.employ("tables", "stores events", "consume", "-v", "--store", "tables", "--stream-bytes", "2147483648", "--clickhouse", s.engine.DSN, "--retention", rules)
	s.archive = filepath.Join(s.employ("archive", "stores events", "consume", "-v", "--store", "archive", "--archive-age", "5s").dir, "archive")
	s.employ("judge", "", "judge", "--clickhouse", s.engine.DSN)
	s.employ("alert", "", "alert", "--clickhouse", s.engine.DSN, "--config", h.config(t, day))
	for host := range hosts {
		s.roots = append(s.roots, t.TempDir())
		s.employ(fmt.Sprint("agent ", host), "serving the processes below", "agent", "--spool", s.roots[host])
	}
	return s
}

// keptDays is for how many days a run stays.
const keptDays = 3

// employ starts a role, and has it die like the servers.
func (s *staff) employ(name, said string, args ...string) *role {
	s.t.Helper()
	r := &role{t: s.t, name: name, said: said, dir: filepath.Join(s.data, name), args: append(args, "--nats", s.nats.URL())}
	if err := os.Mkdir(r.dir, 0o700); err != nil {
		s.t.Fatal(err)
	}
	r.begin()
	s.roles = append(s.roles, r)
	s.parts = append(s.parts, &mortal{name: name, end: r.end, begin: r.begin})
	return r
}

// killEngine kills the database, and who would start it again.
func (s *staff) killEngine() {
	keeper := s.engine.Process
	engines := program.ChildrenOf(keeper.Cmd.Process.Pid)
	for _, pid := range append(engines, keeper.Cmd.Process.Pid) {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			s.t.Errorf("kill the engine, process %d: %v", pid, err)
		}
	}
	<-keeper.Ended
	for _, pid := range engines {
		await(s.t, "the end of the engine", func() bool { return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) || program.Zombie(pid) })
	}
}

// tend starts roles again that ended because a server was away as they began, as systemd does with the units of deploy. None
// ends for another reason.
func (s *staff) tend() {
	s.t.Helper()
	for _, r := range s.roles {
		if r.lives() {
			continue
		}
		if words := r.words(); !program.SystemAway(words) {
			s.t.Errorf("%s ended by itself: %v: %s", r.name, r.up.Cmd.ProcessState, words)
		}
		s.again++
		r.begin()
	}
}

// command is an operator's, that knows the servers alone.
func (s *staff) command(args ...string) {
	s.t.Helper()
	out := program.Run(s.t, program.Setting{Data: s.t.TempDir()}, append(args, "--nats", s.nats.URL(), "--clickhouse", s.engine.DSN)...)
	if out.Status != 0 {
		s.t.Errorf("%v: %v", args, out)
	}
}

// running are the processes to be measured, by name: of the agents, the first.
func (s *staff) running() map[string]int {
	pids := map[string]int{"nats": s.nats.PID()}
	if engines := program.ChildrenOf(s.engine.Process.Cmd.Process.Pid); len(engines) > 0 {
		pids["engine"] = engines[0]
	}
	for _, r := range s.roles {
		if name, _, _ := strings.Cut(r.name, " "); pids[name] == 0 {
			pids[name] = r.up.Cmd.Process.Pid
		}
	}
	return pids
}

func (s *staff) lastWords() string {
	var said []string
	for _, r := range s.roles {
		said = append(said, r.name+": "+r.words())
	}
	return strings.Join(said, "\n")
}

// deathsOf are the times at which a part died.
func (s *staff) deathsOf(name string) []time.Time {
	for _, p := range s.parts {
		if p.name == name {
			return p.times
		}
	}
	return nil
}

// String counts the deaths.
func (s *staff) String() string {
	counts := make([]string, len(s.parts))
	for i, p := range s.parts {
		counts[i] = fmt.Sprint(len(p.times), " ", p.name)
	}
	return strings.Join(counts, ", ")
}
