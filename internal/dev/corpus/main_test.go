package corpus_test

import (
	"os"
	"testing"

	"github.com/tensortap/tensortap/internal/dev/testbed"
)

// TestMain lets the test binary be its own engine.
func TestMain(m *testing.M) {
	testbed.ServeEngine()
	os.Exit(m.Run())
}
