package testbed

import (
	"fmt"
	"os"
	"strings"
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
	var left string
	for deadline := time.Now().Add(leakPatience); time.Now().Before(deadline); {
		if left = leftBehind(goleak.Find()); left == "" {
			return 0
		}
	}
	fmt.Fprintln(os.Stderr, "the tests leave goroutines behind:", left)
	return 1
}

// leftBehind is the stacks of the goroutines in the error, but for those that a NATS server keeps for itself when it is
// stopped while it is at work, and one of nats.go, which waits for ever if its publisher is closed before it has run: then
// it finds a nil channel.
func leftBehind(found error) string {
	if found == nil {
		return ""
	}
	var left []string
	for _, stack := range strings.Split(found.Error(), "Goroutine ")[1:] {
		late := strings.Contains(stack, "(nil chan)") && strings.Contains(stack, "resetPendingAcksOnReconnect")
		if !late && !strings.Contains(stack, "\ncreated by github.com/nats-io/nats-server/") {
			left = append(left, stack)
		}
	}
	return strings.Join(left, "\n")
}
