// Package delivery holds tests of the promise that every event is stored exactly once, whatever is killed, full or away.
package delivery

import (
	"os"
	"strings"
	"testing"

	"github.com/tensortap/tensortap/e2e/internal/program"
)

// TestMain lets the test binary be a server of its own when its arguments are not those of go test.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && !strings.HasPrefix(os.Args[1], "-test.") {
		beServer(os.Args[1:])
	}
	os.Exit(program.Main(m))
}
