// Package roles holds tests of the parts of a fleet, each a process of its own: a cluster of NATS servers, ClickHouse engines,
// and any number of consume, judge and agent, of which one after the other is killed, frozen or cut off.
package roles

import (
	"os"
	"testing"
	"time"

	"github.com/tensortap/tensortap/e2e/internal/program"
	"github.com/tensortap/tensortap/e2e/internal/servers"
	"github.com/tensortap/tensortap/internal/dev/natscluster"
)

// engineServerArgument has the test binary be an engine: FOLDER ADDRESS LIBRARY PROGRAM.
const engineServerArgument = "test-engine-server"

const engineSecret = "of a test"

// TestMain lets the test binary be a server of the fleet.
func TestMain(m *testing.M) {
	natscluster.Serve()
	if len(os.Args) > 5 && os.Args[1] == engineServerArgument {
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

// engineServer is an engine as a server elsewhere, which can be killed and started again at its place.
type engineServer struct {
	dir, address string
	process      *program.Up
}

func newEngineServer(tb testing.TB) *engineServer {
	tb.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // at once
	if err != nil {
		tb.Fatal(err)
	}
	defer listener.Close() //nolint:errcheck // it only had the address
	return &engineServer{dir: tb.TempDir(), address: listener.Addr().String()}
}

// start returns once the engine answers.
func (s *engineServer) start(tb testing.TB) {
	tb.Helper()
	self, err := os.Executable()
	if err != nil {
		tb.Fatal(err)
	}
	cmd := program.Command(tb, program.Setting{})
	cmd.Path, cmd.Args = self, []string{self, engineServerArgument, s.dir, s.address, testbed.Library(tb), program.Path(tb)}
	s.process = program.NewUp("", cmd)
	if err := s.process.Begin(); err != nil {
		tb.Fatal(err)
	}
	await(tb, "the engine", func() bool { return strings.Contains(s.process.Stdout.String(), "ready") })
}

func (s *engineServer) dsn() string { return "http://" + guard.Owner + ":of%20a%20test@" + s.address }

// startEngine runs an engine as a server elsewhere until the test ends, and returns its DSN.
func startEngine(tb testing.TB) string {
	tb.Helper()
	s := newEngineServer(tb)
	s.start(tb)
	tb.Cleanup(func() { _ = s.process.Kill() })
	return s.dsn()
}

}

// TestMain lets the test binary be a server of the fleet.
func TestMain(m *testing.M) {
	natscluster.Serve()
	servers.Serve()
	os.Exit(program.Main(m))
}

// await polls until it holds.
func await(tb testing.TB, what string, holds func() bool) {
	tb.Helper()
	if err := program.Await(2*time.Minute, what, holds); err != nil {
		tb.Fatal(err)
	}
}
