package program

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/tensortap/tensortap/internal/dev/testbed"
	"github.com/tensortap/tensortap/internal/system"
)

// Up is a running `tensortap up`.
type Up struct {
	Setting
	Endpoint system.Endpoint
	Cmd      *exec.Cmd
	Stdout   *testbed.Buffer
	Stderr   *testbed.Buffer
	Ended    chan struct{} // closed when the process has ended
}

// StartUp starts `tensortap up` on the folder and returns when it is ready. It is killed when the test ends.
func StartUp(tb testing.TB, data string, args ...string) *Up {
	tb.Helper()
	u := NewUp(data, Command(tb, Setting{Data: data}, append([]string{"up"}, args...)...))
	if err := u.Start(); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = u.Kill() })
	return u
}

// Launching is a system below which a test launches programs and then asks many questions: without one, each starts its own.
func Launching(tb testing.TB, env ...string) Setting {
	tb.Helper()
	s := StartUp(tb, tb.TempDir()).Setting
	s.Env = env
	return s
}

// NewUp is a process of `tensortap up`, or another that runs until it is stopped, not yet started.
func NewUp(data string, cmd *exec.Cmd) *Up {
	u := &Up{Setting: Setting{Data: data}, Cmd: cmd, Stdout: &testbed.Buffer{}, Stderr: &testbed.Buffer{}, Ended: make(chan struct{})}
	cmd.Stdout, cmd.Stderr = u.Stdout, u.Stderr
	return u
}

// Begin starts the process.
func (u *Up) Begin() error {
	if err := u.Cmd.Start(); err != nil {
		return err
	}
	go func() {
		_ = u.Cmd.Wait()
		close(u.Ended)
	}()
	return nil
}

// Start returns when the process has said that it is up.
func (u *Up) Start() error {
	if err := u.Begin(); err != nil {
		return err
	}
	deadline := time.After(Patience)
	for {
		select {
		case <-u.Ended:
			return fmt.Errorf("up ended before it was ready: %v\n%s%s", u.Cmd.ProcessState, u.Stdout, u.Stderr)
		case <-deadline:
			return errors.Join(fmt.Errorf("up was not ready after %v\n%s%s", Patience, u.Stdout, u.Stderr), u.Kill())
		case <-time.After(5 * time.Millisecond):
		}
		if !strings.Contains(u.Stdout.String(), "Publish with:") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(u.Data, "endpoint.json"))
		if err != nil {
			return err
		}
		return json.Unmarshal(text, &u.Endpoint)
	}
}

// Stop ends the process as Ctrl-C does, and says so when it does not end well.
func (u *Up) Stop() error {
	if u.Cmd.Process == nil {
		return nil
	}
	_ = u.Cmd.Process.Signal(os.Interrupt)
	select {
	case <-u.Ended:
	case <-time.After(Patience):
		return errors.Join(fmt.Errorf("up did not end within %v of an interrupt", Patience), u.Kill())
	}
	if status := u.Cmd.ProcessState.ExitCode(); status != 0 {
		return fmt.Errorf("up ended with status %d\n%s", status, u.Stderr)
	}
	return nil
}

// Kill ends the process as kill -9 does, and returns when it has ended.
func (u *Up) Kill() error {
	err := u.Cmd.Process.Kill()
	<-u.Ended
	if errors.Is(err, os.ErrProcessDone) {
		return nil
	}
	return err
}

// Query asks the system in SQL and returns the rows, without their header.
func (u *Up) Query(tb testing.TB, sql string) [][]string {
	tb.Helper()
	out := Run(tb, u.Setting, "query", sql, "--output", "csv")
	if out.Status != 0 {
		tb.Fatalf("query %s: %v", sql, out)
	}
	return ParseCSV(tb, out.Stdout)[1:]
}

// Publish stores a dump and fails the test if that does not work.
func (u *Up) Publish(tb testing.TB, dir, run string, args ...string) Outcome {
	tb.Helper()
	out := Run(tb, u.Setting, append([]string{"publish", "msprobe", dir, "--run", run}, args...)...)
	if out.Status != 0 {
		tb.Fatalf("publish %s: %v", dir, out)
	}
	return out
}

// Settle returns when ClickHouse holds all that the stream holds.
func (u *Up) Settle(tb testing.TB) {
	tb.Helper()
	client := u.Client(tb)
	defer client.Close()
	if err := client.WaitStored(tb.Context()); err != nil {
		tb.Fatal(err)
	}
}

// Client is connected to the system.
func (u *Up) Client(tb testing.TB) *system.Client {
	tb.Helper()
	client, err := system.Connect(tb.Context(), u.Endpoint, time.Now)
	if err != nil {
		tb.Fatal(err)
	}
	return client
}

// ConnectStream is a client of the stream of its own, which is closed with the test.
func ConnectStream(tb testing.TB, url string) jetstream.JetStream {
	tb.Helper()
	conn, err := nats.Connect(url, nats.MaxReconnects(-1), nats.ReconnectWait(20*time.Millisecond), nats.Timeout(time.Minute))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(conn.Close)
	js, err := jetstream.New(conn, jetstream.WithDefaultTimeout(20*time.Second))
	if err != nil {
		tb.Fatal(err)
	}
	return js
}
