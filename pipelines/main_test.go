package pipelines_test

import (
	"os"
	"testing"

	"github.com/tensortap/tensortap/internal/dev/testbed"
)

func TestMain(m *testing.M) { os.Exit(testbed.LeavesNothing(m)) }
