// Package scene holds tests of programs of several processes in which one thing goes wrong: `tensortap run` itself says
// what, and the one report that a person would ask for names rank, op, step and request.
package scene

import (
	"os"
	"testing"

	"github.com/tensortap/tensortap/e2e/internal/program"
)

// launching is where a test launches programs and asks about them afterwards: below the system that tests share, in which the names
// of its runs are its own.
func launching(t *testing.T, env ...string) program.Setting {
	t.Helper()
	return program.Setting{Data: program.Shared(t).Data, Env: append(env, "TENSORTAP_SPOOL="+t.TempDir(), "OMP_NUM_THREADS=1")}
}

func TestMain(m *testing.M) {
	os.Exit(program.Main(m))
}
