package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/tensortap/tensortap/internal/system"
	"github.com/tensortap/tensortap/internal/testbed"
)

// lifeline is the variable that makes a child of the tests end with them, however they end.
const lifeline = "TENSORTAP_TEST_LIFELINE"

// TestMain lets the test binary be tensortap when its arguments are not those of `go test`.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && !strings.HasPrefix(os.Args[1], "-test.") {
		if os.Getenv(lifeline) == "1" {
			go dieWithParent(os.NewFile(3, "lifeline"))
		}
		beServer(os.Args[1:])
		main()
	}
	status := m.Run()
	if err := common.stop(); err != nil {
		fmt.Fprintln(os.Stderr, "stop the shared system:", err)
		status = max(status, 1)
	}
	os.Exit(status)
}

// dieWithParent ends this process when the other end of the pipe is closed, which the kernel does for a parent that was killed.
func dieWithParent(end *os.File) {
	syscall.CloseOnExec(int(end.Fd()))
	_, _ = io.Copy(io.Discard, end)
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
}

// outcome is what a command that has ended left.
type outcome struct {
	status         int // -1 when a signal ended it
	stdout, stderr string
}

func (o outcome) String() string {
	return fmt.Sprintf("status %d\nstdout: %s\nstderr: %s", o.status, o.stdout, o.stderr)
}

// setting is how a command is run. The zero value runs it in the folder of the test with no folder of data.
type setting struct {
	data string   // the folder of data; empty for one that does not exist
	dir  string   // the working folder
	env  []string // besides what every command is given
}

// environment is all that a command sees: nothing of the user's.
func (s setting) environment(tb testing.TB) []string {
	tb.Helper()
	data := s.data
	if data == "" {
		data = filepath.Join(os.TempDir(), "tensortap-no-such-folder")
	}
	return append([]string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + filepath.Join(os.TempDir(), "tensortap-no-home"), "TMPDIR=" + os.TempDir(),
		"TENSORTAP_ENGINE=" + testbed.Library(tb), "TENSORTAP_DATA=" + data,
		"TENSORTAP_SPOOL=" + filepath.Join(data, "spool"), lifeline + "=1",
	}, s.env...)
}

// command prepares a process of tensortap that ends with the tests.
func command(tb testing.TB, s setting, args ...string) *exec.Cmd {
	tb.Helper()
	self, err := os.Executable()
	if err != nil {
		tb.Fatal(err)
	}
	cmd := exec.CommandContext(context.WithoutCancel(tb.Context()), self, args...)
	cmd.Dir, cmd.Env = s.dir, s.environment(tb)
	read, write, err := os.Pipe()
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _, _ = read.Close(), write.Close() })
	cmd.ExtraFiles = []*os.File{read}
	return cmd
}

// process runs tensortap as a process of its own and returns when that has ended.
func process(tb testing.TB, s setting, args ...string) outcome {
	tb.Helper()
	var stdout, stderr bytes.Buffer
	cmd := command(tb, s, args...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		tb.Fatalf("start tensortap %q: %v", args, err)
	}
	return outcome{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

// inside runs tensortap within the test's process, which is faster. Paths among the arguments must be absolute.
func inside(tb testing.TB, s setting, args ...string) outcome {
	tb.Helper()
	var stdout, stderr bytes.Buffer
	env := s.environment(tb)
	getenv := func(name string) string {
		for _, e := range slices.Backward(env) {
			if value, ok := strings.CutPrefix(e, name+"="); ok {
				return value
			}
		}
		return ""
	}
	status := run(tb.Context(), args, &stdout, &stderr, getenv)
	return outcome{status, stdout.String(), stderr.String()}
}

// upProcess is a running `tensortap up`.
type upProcess struct {
	setting
	endpoint system.Endpoint
	cmd      *exec.Cmd
	stdout   *testbed.Buffer
	stderr   *testbed.Buffer
	ended    chan struct{} // closed when the process has ended
}

// startUp starts `tensortap up` on the folder and returns when it is ready. It is killed when the test ends.
func startUp(tb testing.TB, data string, args ...string) *upProcess {
	tb.Helper()
	u := newUpProcess(data, command(tb, setting{data: data}, append([]string{"up"}, args...)...))
	if err := u.start(); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = u.kill() })
	return u
}

func newUpProcess(data string, cmd *exec.Cmd) *upProcess {
	u := &upProcess{setting: setting{data: data}, cmd: cmd, stdout: &testbed.Buffer{}, stderr: &testbed.Buffer{}, ended: make(chan struct{})}
	cmd.Stdout, cmd.Stderr = u.stdout, u.stderr
	return u
}

// begin starts the process.
func (u *upProcess) begin() error {
	if err := u.cmd.Start(); err != nil {
		return err
	}
	go func() {
		_ = u.cmd.Wait()
		close(u.ended)
	}()
	return nil
}

// start returns when the process has said that it is up.
func (u *upProcess) start() error {
	if err := u.begin(); err != nil {
		return err
	}
	deadline := time.After(60 * time.Second)
	for {
		select {
		case <-u.ended:
			return fmt.Errorf("up ended before it was ready: %v\n%s%s", u.cmd.ProcessState, u.stdout, u.stderr)
		case <-deadline:
			return errors.Join(fmt.Errorf("up was not ready after 60 s\n%s%s", u.stdout, u.stderr), u.kill())
		case <-time.After(5 * time.Millisecond):
		}
		if !strings.Contains(u.stdout.String(), "Publish with:") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(u.data, "endpoint.json"))
		if err != nil {
			return err
		}
		return json.Unmarshal(text, &u.endpoint)
	}
}

// stop ends the process as Ctrl-C does, and says so when it does not end well.
func (u *upProcess) stop() error {
	if u.cmd.Process == nil {
		return nil
	}
	_ = u.cmd.Process.Signal(os.Interrupt)
	select {
	case <-u.ended:
	case <-time.After(60 * time.Second):
		return errors.Join(errors.New("up did not end within 60 s of an interrupt"), u.kill())
	}
	if status := u.cmd.ProcessState.ExitCode(); status != 0 {
		return fmt.Errorf("up ended with status %d\n%s", status, u.stderr)
	}
	return nil
}

// kill ends the process as kill -9 does, and returns when it has ended.
func (u *upProcess) kill() error {
	err := u.cmd.Process.Kill()
	<-u.ended
	if errors.Is(err, os.ErrProcessDone) {
		return nil
	}
	return err
}

// query asks the system in SQL and returns the rows, without their header.
func (u *upProcess) query(tb testing.TB, sql string) [][]string {
	tb.Helper()
	out := inside(tb, u.setting, "query", sql, "--output", "csv")
	if out.status != 0 {
		tb.Fatalf("query %s: %v", sql, out)
	}
	return parseCSV(tb, out.stdout)[1:]
}

// publish stores a dump and fails the test if that does not work.
func (u *upProcess) publish(tb testing.TB, dir, run string, args ...string) outcome {
	tb.Helper()
	out := inside(tb, u.setting, append([]string{"publish", "msprobe", dir, "--run", run}, args...)...)
	if out.status != 0 {
		tb.Fatalf("publish %s: %v", dir, out)
	}
	return out
}

// settle returns when ClickHouse holds all that the stream holds.
func (u *upProcess) settle(tb testing.TB) {
	tb.Helper()
	client := u.client(tb)
	defer client.Close()
	if err := client.WaitStored(tb.Context()); err != nil {
		tb.Fatal(err)
	}
}

func (u *upProcess) client(tb testing.TB) *system.Client {
	tb.Helper()
	client, err := system.Connect(tb.Context(), u.endpoint, time.Now)
	if err != nil {
		tb.Fatal(err)
	}
	return client
}

// sharedUp is one system for all tests that read, or write runs whose names no other test uses.
type sharedUp struct {
	once sync.Once
	dir  string
	up   *upProcess
	err  error
	ends []*os.File
}

var common sharedUp //nolint:gochecknoglobals // starting a system takes a second, so tests share one, which TestMain ends

// shared is the system that tests share. It runs until all have ended.
func shared(tb testing.TB) *upProcess {
	tb.Helper()
	testbed.Library(tb)
	common.once.Do(func() { common.err = common.begin(tb) })
	if common.err != nil {
		tb.Fatal(common.err)
	}
	return common.up
}

func (s *sharedUp) begin(tb testing.TB) error {
	tb.Helper()
	var err error
	if s.dir, err = os.MkdirTemp("", "tensortap-shared-"); err != nil { //nolint:usetesting // outlives the test that needs it first
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	read, write, err := os.Pipe()
	if err != nil {
		return err
	}
	s.ends = []*os.File{read, write}
	cmd := exec.CommandContext(context.Background(), self, "up")
	cmd.Env, cmd.ExtraFiles = setting{data: s.dir}.environment(tb), []*os.File{read}
	s.up = newUpProcess(s.dir, cmd)
	return s.up.start()
}

func (s *sharedUp) stop() error {
	if s.up == nil {
		return nil
	}
	err := s.up.stop()
	for _, end := range s.ends {
		err = errors.Join(err, end.Close())
	}
	return errors.Join(err, os.RemoveAll(s.dir))
}
