package simulation

import (
	"os"
	"runtime"
	"runtime/debug"
	"testing"
)

// TestMain keeps to one processor, so that a seed repeats: fewer goroutines are ready at the same time.
func TestMain(m *testing.M) {
	runtime.GOMAXPROCS(1)
	debug.SetGCPercent(1000)
	debug.SetMemoryLimit(256 << 20)
	os.Exit(m.Run())
}
