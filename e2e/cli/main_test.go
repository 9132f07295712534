// Package cli holds tests of the command line as its users meet it.
package cli

import (
	"os"
	"testing"

	"github.com/tensortap/tensortap/e2e/internal/program"
)

func TestMain(m *testing.M) {
	os.Exit(program.Main(m))
}
