// Package roles holds tests of the parts of a fleet, each a process of its own: a cluster of NATS servers, ClickHouse engines,
// and any number of consume, judge and agent, of which one after the other is killed, frozen or cut off.
package roles

import (
	"context"
	"fmt"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/tensortap/tensortap/e2e/internal/program"
	"github.com/tensortap/tensortap/internal/dev/natscluster"
	"github.com/tensortap/tensortap/internal/dev/testbed"
	"github.com/tensortap/tensortap/internal/embedded"
	"github.com/tensortap/tensortap/internal/embedded/guard"
)

// engineServer is the argument with which the test binary is an engine: FOLDER ADDRESS LIBRARY PROGRAM.
const engineServer = "test-engine-server"

const engineSecret = "of a test"

// TestMain lets the test binary be a server of the fleet.
func TestMain(m *testing.M) {
	natscluster.Serve()
	if len(os.Args) > 5 && os.Args[1] == engineServer {
		fmt.Fprintln(os.Stderr, beEngine(os.Args[2], os.Args[3], os.Args[4], os.Args[5]))
		os.Exit(program.ExitError)
	}
	os.Exit(program.Main(m))
}

func beEngine(dir, address, library, tensortap string) error {
	cfg := embedded.DefaultEngineConfig(library, dir, []string{tensortap, "engine", "serve"})
	cfg.Guard.Address, cfg.Guard.OwnerPassword = address, engineSecret
	cfg.Log = zerolog.New(os.Stderr)
	engine, err := embedded.NewEngine(cfg)
	if err != nil {
		return err
	}
	go func() {
		<-engine.Ready()
		fmt.Fprintln(os.Stdout, "ready")
	}()
	return engine.Run(context.Background())
}

// startEngine runs an engine as a server elsewhere until the test ends, and returns its DSN.
func startEngine(tb testing.TB) string {
	tb.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // at once
	if err != nil {
		tb.Fatal(err)
	}
	address := listener.Addr().String()
	if err := listener.Close(); err != nil {
		tb.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		tb.Fatal(err)
	}
	cmd := program.Command(tb, program.Setting{})
	cmd.Path, cmd.Args = self, []string{self, engineServer, tb.TempDir(), address, testbed.Library(tb), program.Path(tb)}
	process := program.NewUp("", cmd)
	if err := process.Begin(); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = process.Kill() })
	await(tb, "the engine", func() bool { return strings.Contains(process.Stdout.String(), "ready") })
	return "http://" + guard.Owner + ":of%20a%20test@" + address
}

// await polls until it holds.
func await(tb testing.TB, what string, holds func() bool) {
	tb.Helper()
	if err := program.Await(2*time.Minute, what, holds); err != nil {
		tb.Fatal(err)
	}
}
