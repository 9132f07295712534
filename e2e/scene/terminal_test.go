package scene

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tensortap/tensortap/e2e/internal/program"
	"github.com/tensortap/tensortap/e2e/internal/torch"
)

// typist sits at a terminal at which tensortap runs.
type typist struct {
	t     *testing.T
	keys  *os.File
	shown said
	cmd   *exec.Cmd
	seen  int // bytes of what is shown
}

// atTerminal runs a script below `tensortap run` in a session of its own, at a pseudo-terminal.
func atTerminal(t *testing.T, flags []string, script ...string) *typist {
	t.Helper()
	keys, terminal := pseudoTerminal(t)
	s := program.Setting{Data: t.TempDir(), Env: []string{
		"TENSORTAP_SPOOL=" + t.TempDir(), "OMP_NUM_THREADS=1", "FOLDER=" + t.TempDir(), "TERM=dumb",
	}}
	args := append(append([]string{"run", "--run", "stops"}, flags...), "--", torch.Python(t))
	p := &typist{t: t, keys: keys, cmd: program.Command(t, s, append(args, script...)...)}
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = terminal, terminal, terminal
	p.cmd.SysProcAttr.Setsid, p.cmd.SysProcAttr.Setctty = true, true
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = terminal.Close()
	read := make(chan struct{})
	go func() {
		defer close(read)
		_, _ = keys.WriteTo(&p.shown) // until the last process has let the terminal go
	}()
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		_ = keys.Close()
		<-read
	})
	return p
}

// pseudoTerminal is the two ends of one.
func pseudoTerminal(t *testing.T) (ours, theirs *os.File) {
	t.Helper()
	ours, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY|unix.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := ours.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var number int
	err = raw.Control(func(fd uintptr) {
		if err = unix.IoctlSetPointerInt(int(fd), unix.TIOCSPTLCK, 0); err == nil {
			number, err = unix.IoctlGetInt(int(fd), unix.TIOCGPTN)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	theirs, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	return ours, theirs
}

// await waits for a text beyond what was awaited before.
func (p *typist) await(text string) {
	p.t.Helper()
	err := program.Await(4*time.Minute, text, func() bool { return strings.Contains(p.shown.String()[p.seen:], text) })
	if err != nil {
		p.t.Fatalf("%v: %s", err, &p.shown)
	}
	p.seen += strings.Index(p.shown.String()[p.seen:], text) + len(text)
}

func (p *typist) enter(line string) {
	p.t.Helper()
	if _, err := p.keys.WriteString(line + "\r"); err != nil {
		p.t.Fatal(err)
	}
}

// interrupt presses Ctrl-C, which is for this process alone; again where nothing came of it, as Python sleeps through one that
// comes just before it waits for a line.
func (p *typist) interrupt() {
	p.t.Helper()
	const tries = 12
	for range tries {
		p.keys.Write([]byte{3}) //nolint:errcheck // await says so
		heard := func() bool { return strings.Contains(p.shown.String()[p.seen:], "KeyboardInterrupt") }
		if program.Await(20*time.Second, "an interrupt", heard) == nil {
			break
		}
	}
	p.await("KeyboardInterrupt")
}

func (p *typist) requireEnded(status int) {
	p.t.Helper()
	_ = p.cmd.Wait()
	if got := p.cmd.ProcessState.ExitCode(); got != status {
		p.t.Errorf("status %d, want %d: %s", got, status, &p.shown)
	}
}

// TestABreakpointInASpawnedChildHasTheTerminal types to two children that stop, one after the other: the second waits, and says so.
func TestABreakpointInASpawnedChildHasTheTerminal(t *testing.T) {
	t.Parallel()
	p := atTerminal(t, nil, "testdata/stops.py", "stop", "2")
	for turn := range 2 {
		p.await("; what you type goes there")
		p.await("(Pdb) ")
		if turn == 0 {
			err := program.Await(4*time.Minute, "the other child to wait", func() bool {
				return strings.Contains(p.shown.String(), "and waits for the terminal, which process ")
			})
			if err != nil {
				t.Fatalf("%v: %s", err, &p.shown)
			}
		}
		p.enter("p 'the answer', answer // 10")
		p.await("('the answer', 4)")
		p.interrupt()
		p.await("(Pdb) ")
		p.enter("answer += 100")
		p.await("(Pdb) ")
		p.enter("c")
		p.await(" goes on")
	}
	p.requireEnded(0)
	folder := strings.TrimPrefix(p.cmd.Env[len(p.cmd.Env)-2], "FOLDER=")
	for rank := range 2 {
		text, err := os.ReadFile(filepath.Join(folder, fmt.Sprintf("stop.%d", rank)))
		if want := fmt.Sprint(140 + rank); err != nil || string(text) != want {
			t.Errorf("child %d came to %s, want %s: %v", rank, text, want, err)
		}
	}
}

// TestAnOpThatRaisedIsLookedAt types where an op of a spawned child raised, and lets it end as it would have.
func TestAnOpThatRaisedIsLookedAt(t *testing.T) {
	t.Parallel()
	p := atTerminal(t, []string{"--post-mortem", "--level", "mix"}, "testdata/stops.py", "fail", "1")
	p.await("RuntimeError")
	p.await("(Pdb) ")
	p.enter("p list(other.shape), list(x.shape)")
	p.await("([3, 5], [2, 4])")
	p.enter("q")
	p.await(" goes on")
	p.requireEnded(1)
	if n := strings.Count(p.shown.String(), "; what you type goes there"); n != 1 {
		t.Errorf("the exception is looked at %d times: %s", n, &p.shown)
	}
}

// TestWithoutATerminalNobodyStops has a child say so, and go on.
func TestWithoutATerminalNobodyStops(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	s := program.Setting{Data: t.TempDir(), Env: []string{"TENSORTAP_SPOOL=" + t.TempDir(), "OMP_NUM_THREADS=1", "FOLDER=" + folder}}
	cmd := program.Command(t, s, "run", "--", torch.Python(t), "testdata/stops.py", "stop", "1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
	text, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(text), "stops.py, line 15, and goes on: standard input of tensortap run is no terminal") {
		t.Errorf("%v: %s", err, text)
	}
	if text, err := os.ReadFile(filepath.Join(folder, "stop.0")); err != nil || string(text) != "40" {
		t.Errorf("the child came to %s: %v", text, err)
	}
}
