// Package scene holds tests of programs of several processes in which one thing goes wrong: `tensortap run` itself says
// what, and the one report that a person would ask for names rank, op, step and request.
package scene

import (
	"os"
	"testing"

	"github.com/tensortap/tensortap/e2e/internal/program"
)

func TestMain(m *testing.M) {
	os.Exit(program.Main(m))
}
