// Package engines holds tests with vLLM and SGLang at work.
package engines

import (
	"os"
	"testing"

	"github.com/tensortap/tensortap/e2e/internal/program"
)

func TestMain(m *testing.M) {
	os.Exit(program.Main(m))
}
