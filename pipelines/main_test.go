package pipelines_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/tensortap/tensortap/internal/dev/testbed"
)

// TestMain lets the test binary be a node of a cluster.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == nodeServer {
		if err := beNode(os.Args[2]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(testbed.LeavesNothing(m))
}
