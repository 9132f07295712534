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
