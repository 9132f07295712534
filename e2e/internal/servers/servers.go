// Package servers runs the two servers of a fleet for tests, each a process of its own: NATS, and a ClickHouse engine. The
// processes are the test's own binary, whose TestMain calls Serve first.
package servers

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/tensortap/tensortap/e2e/internal/program"
)

// Serve lets a test binary be a server. It returns only when that is not asked for.
func Serve() {
	for role, be := range map[string]func([]string) error{natsServer: beNATS, engineServer: beEngine} {
		if len(os.Args) < 2 || os.Args[1] != role {
			continue
		}
		if err := be(os.Args[2:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(program.ExitError)
		}
		os.Exit(0)
	}
}

// start runs the test binary in that role until the test ends, and returns once it has said that it is ready.
func start(tb testing.TB, args ...string) *program.Up {
	tb.Helper()
	self, err := os.Executable()
	if err != nil {
		tb.Fatal(err)
	}
	cmd := program.Command(tb, program.Setting{})
	cmd.Path, cmd.Args = self, append([]string{self}, args...)
	return Begin(tb, cmd, ready)
}

// Begin starts a process, and returns once it has said that much. It is killed as the test ends.
func Begin(tb testing.TB, cmd *exec.Cmd, said string) *program.Up {
	tb.Helper()
	process := program.NewUp("", cmd)
	if err := process.Begin(); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		_ = process.Kill()
		if tb.Failed() {
			tb.Logf("%v: %v%v", cmd.Args, process.Stdout, process.Stderr)
		}
	})
	err := program.Await(2*time.Minute, strings.Join(cmd.Args, " "), func() bool {
		select {
		case <-process.Ended:
			tb.Fatalf("%v ended: %v%v", cmd.Args, process.Stdout, process.Stderr)
		default:
		}
		return strings.Contains(process.Stdout.String()+process.Stderr.String(), said)
	})
	if err != nil {
		tb.Fatal(err)
	}
	return process
}

const ready = "ready to serve"
