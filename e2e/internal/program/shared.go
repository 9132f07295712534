package program

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"testing"

	"github.com/tensortap/tensortap/internal/dev/recorded"
	"github.com/tensortap/tensortap/internal/dev/testbed"
)

// PublishOnce stores a recorded dump under its name in the shared system, whichever test needs it first.
func PublishOnce(tb testing.TB, names ...string) *Up {
	tb.Helper()
	u := Shared(tb)
	for _, name := range names {
		once, _ := kept.LoadOrStore(name, &sync.Once{})
		once.(*sync.Once).Do(func() {
			u.Publish(tb, recorded.Unpack(tb, name), name)
			u.Settle(tb)
		})
	}
	return u
}

var kept sync.Map //nolint:gochecknoglobals // what the shared system holds, by name of the run

// sharedUp is one system for all tests of a package that read, or write runs whose names no other test uses.
type sharedUp struct {
	once sync.Once
	dir  string
	up   *Up
	err  error
}

var common sharedUp //nolint:gochecknoglobals // starting a system takes a second, so tests share one, which Main ends

// Main runs the tests of a package and then ends the system that they shared. It returns the status to exit with.
func Main(m *testing.M) int {
	status := m.Run()
	if err := common.stop(); err != nil {
		fmt.Fprintln(os.Stderr, "stop the shared system:", err)
		status = max(status, 1)
	}
	return status
}

// Shared is the system that tests of a package share. It runs until all have ended.
func Shared(tb testing.TB) *Up {
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
	cmd := exec.CommandContext(context.Background(), Path(tb), "up") //nolint:gosec // built by us
	cmd.Env = Setting{Data: s.dir}.Environment(tb)
	EndWithTests(cmd)
	s.up = NewUp(s.dir, cmd)
	return s.up.Start()
}

func (s *sharedUp) stop() error {
	if s.up == nil {
		return nil
	}
	return errors.Join(s.up.Stop(), os.RemoveAll(s.dir))
}
