package agent_test

import (
	"os"
	"testing"

	"github.com/tensortap/tensortap/internal/dev/forgetful"
	"github.com/tensortap/tensortap/internal/dev/testbed"
)

func TestMain(m *testing.M) {
	if forgetful.Serve() {
		return
	}
	os.Exit(testbed.LeavesNothing(m))
}
