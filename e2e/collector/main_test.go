// Package collector holds tests of live programs that the built program records.
package collector

import (
	"os"
	"testing"

	"github.com/tensortap/tensortap/e2e/internal/program"
)

func TestMain(m *testing.M) {
	os.Exit(program.Main(m))
}
