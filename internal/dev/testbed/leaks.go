package testbed

import (
	"fmt"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// leakPatience is how long goroutines may take to end after the last test: a machine under load ends them late.
const leakPatience = time.Minute

// LeavesNothing runs the tests of a package, and returns the status to exit with: not 0 where they leave goroutines behind.
func LeavesNothing(m *testing.M) int {
	status := m.Run()
	if status != 0 {
		return status
	}
	// A NATS server that is stopped while it is at work leaves these of its own.
	const store = "github.com/nats-io/nats-server/v2/server."
	servers := []goleak.Option{goleak.IgnoreTopFunction(store + "(*msgBlock).flushLoop"), goleak.IgnoreTopFunction(store + "(*fileStore).flushStreamStateLoop")}
	var err error
	for deadline := time.Now().Add(leakPatience); time.Now().Before(deadline); {
		if err = goleak.Find(servers...); err == nil {
			return 0
		}
	}
	fmt.Fprintln(os.Stderr, "the tests leave goroutines behind:", err)
	return 1
}
