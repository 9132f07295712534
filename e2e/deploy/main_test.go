// Package deploy holds tests of what deploy/ starts: its commands, environments and configurations, run as plain processes.
package deploy

import (
	"os"
	"testing"

	"github.com/tensortap/tensortap/e2e/internal/program"
)

func TestMain(m *testing.M) { os.Exit(program.Main(m)) }
