// Package answers holds tests of the answers that the built program gives: of comparisons, reports, watches, overflow.
package answers

import (
	"os"
	"testing"

	"github.com/tensortap/tensortap/e2e/internal/program"
)

func TestMain(m *testing.M) {
	os.Exit(program.Main(m))
}
