package pipelines_test

import (
	"os"
	"testing"

	"github.com/tensortap/tensortap/internal/dev/natscluster"
	"github.com/tensortap/tensortap/internal/dev/testbed"
)

// TestMain lets the test binary be a node of a cluster.
func TestMain(m *testing.M) {
	natscluster.Serve()
	os.Exit(testbed.LeavesNothing(m))
}
