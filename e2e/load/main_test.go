// Package load holds a test of a fleet under load: a NATS server, a ClickHouse engine, the roles and crowds of publishers, each
// a process of its own, at the greatest rate that holds, at twice that rate, and while something is wrong with one of them.
package load

import (
	"flag"
	"os"
	"testing"
	"time"

	"github.com/tensortap/tensortap/e2e/internal/program"
	"github.com/tensortap/tensortap/e2e/internal/servers"
)

// The form of the test: small in `make test`; `make load` has the full one.
//
//nolint:gochecknoglobals // flags of the tests
var (
	agents    = flag.Int("agents", 8, "how many agents publish, each by a connection of its own for one rank of one of four runs")
	crowds    = flag.Int("processes", 2, "in how many processes the agents are")
	window    = flag.Duration("window", time.Second, "how long each figure is measured, at least")
	tensors   = flag.Int("tensors", 100, "how many of the recorded step's tensors each step has; 0 for all")
	fixedRate = flag.Float64("rate", 400, "events a second; 0 looks for the greatest rate that holds")
	write     = flag.String("write", "", "document whose figures are written anew")
)

// TestMain lets the test binary be a server, or a crowd of publishers.
func TestMain(m *testing.M) {
	servers.Serve()
	publishForParent()
	os.Exit(program.Main(m))
}
