package attack

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/tensortap/tensortap/e2e/internal/program"
	"github.com/tensortap/tensortap/internal/dev/testbed"
)

// The two users of these tests. The machine needs no accounts for them.
const (
	victimID   = 47110
	strangerID = 47111
)

func as(user uint32) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: user, Gid: user}, Pdeathsig: syscall.SIGKILL}
}

// stage is a folder that all users may enter, with what the two users run, and the system of the victim.
type stage struct {
	once   sync.Once
	folder string
	victim *program.Up
	agent  *program.Up // another process of the victim
	err    error
}

var common stage //nolint:gochecknoglobals // starting a system takes a second, so tests share one, which TestMain ends

// victim is a running system of one user, in a data folder that the user had opened for all to look into.
func victim(tb testing.TB) *program.Up {
	tb.Helper()
	if os.Geteuid() != 0 {
		tb.Skip("SKIPPED: only root can be two users")
	}
	testbed.Library(tb)
	common.once.Do(func() { common.err = common.begin(tb) })
	if common.err != nil {
		tb.Fatal(common.err)
	}
	return common.victim
}

func (s *stage) begin(tb testing.TB) error {
	tb.Helper()
	var err error
	if s.folder, err = os.MkdirTemp("/tmp", "tensortap-attack-"); err != nil { //nolint:usetesting // others cannot enter the folders of a test
		return err
	}
	self, err := os.Executable()
	if err == nil {
		err = errors.Join(os.Chmod(s.folder, 0o755), //nolint:gosec // for all to enter
			lend(self, s.path("stranger")), lend(program.Path(tb), s.path("tensortap")), lend(testbed.Library(tb), s.path("libchdb.so")),
			owned(s.path("data")), owned(s.path("home")))
	}
	if err != nil {
		return err
	}
	s.victim = program.NewUp(s.path("data"), s.command("up", "--spool", s.path("home/spool")))
	if err := s.victim.Start(); err != nil {
		return err
	}
	s.agent = program.NewUp(s.path("data"), s.command("agent", "--spool", s.path("home/other")))
	if err := s.agent.Begin(); err != nil {
		return err
	}
	return program.Await(program.Patience, "the agent to serve", func() bool { return strings.Contains(s.agent.Stderr.String(), "serving") })
}

func (s *stage) path(name string) string { return filepath.Join(s.folder, name) }

// command is one of the victim's.
func (s *stage) command(args ...string) *exec.Cmd {
	cmd := exec.Command(s.path("tensortap"), args...) //nolint:noctx,gosec // ours; it ends with the tests
	cmd.Dir, cmd.SysProcAttr = s.folder, as(victimID)
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + s.path("home"), "TMPDIR=" + s.path("home"), "TENSORTAP_DATA=" + s.path("data"),
		"TENSORTAP_ENGINE=" + s.path("libchdb.so"), "TENSORTAP_SPOOL=" + s.path("home/spool"),
	}
	return cmd
}

// lend puts a file where all users may read it; a link costs no room.
func lend(from, to string) error {
	resolved, err := filepath.EvalSymlinks(from)
	if err != nil {
		return err
	}
	info, err := os.Stat(resolved)
	if err != nil {
		return err
	}
	if info.Mode().Perm()&0o004 != 0 && os.Link(resolved, to) == nil {
		return nil
	}
	source, err := os.Open(resolved) //nolint:gosec // ours
	if err != nil {
		return err
	}
	defer source.Close()                                                     //nolint:errcheck // only read
	target, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_EXCL, 0o755) //nolint:gosec // for all to run
	if err != nil {
		return err
	}
	_, err = io.Copy(target, source)
	return errors.Join(err, target.Chmod(0o755), target.Close())
}

// owned makes a folder of the victim that all may enter and list.
func owned(path string) error {
	return errors.Join(os.Mkdir(path, 0o755), os.Chmod(path, 0o755), os.Chown(path, victimID, victimID)) //nolint:gosec // as a careless user has it
}

func (s *stage) end() error {
	if s.folder == "" {
		return nil
	}
	var err error
	if s.agent != nil {
		err = s.agent.Stop()
	}
	if s.victim != nil {
		err = errors.Join(err, s.victim.Stop())
	}
	return errors.Join(err, os.RemoveAll(s.folder))
}

// stranger runs a task of beStranger as another user.
func stranger(tb testing.TB, task string, input any) *exec.Cmd {
	tb.Helper()
	text, err := json.Marshal(input)
	if err != nil {
		tb.Fatal(err)
	}
	cmd := exec.CommandContext(tb.Context(), common.path("stranger"), "stranger", task) //nolint:gosec // this binary
	cmd.SysProcAttr, cmd.Dir, cmd.Env = as(strangerID), "/", []string{"STRANGER=1"}
	cmd.Stdin = bytes.NewReader(append(text, '\n'))
	return cmd
}

// tried is what the stranger could do of a task, a line each.
func tried(tb testing.TB, task string, input any) []string {
	tb.Helper()
	cmd := stranger(tb, task, input)
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		tb.Fatalf("the stranger's %s: %v\n%s", task, err, said.String())
	}
	var done []string
	if err := json.Unmarshal(out, &done); err != nil {
		tb.Fatalf("the stranger's %s: %v in %s", task, err, out)
	}
	return done
}

// processes are the victim's: up, the engine, and an agent.
func processes(tb testing.TB, u *program.Up) []int {
	tb.Helper()
	all := append([]int{u.Cmd.Process.Pid}, program.ChildrenOf(u.Cmd.Process.Pid)...)
	if len(all) < 2 {
		tb.Fatal(fmt.Sprint("the victim's processes are ", all, ", want up and the engine"))
	}
	return append(all, common.agent.Cmd.Process.Pid)
}

func ownerOf(info os.FileInfo) int {
	if status, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(status.Uid)
	}
	return -1
}
