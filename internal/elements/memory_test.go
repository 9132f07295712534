package elements_test

import (
	"runtime"
	"testing"

	"github.com/tensortap/tensortap/internal/elements"
)

// TestMemoryDoesNotGrowWithTheTensors allocates far less than what is read, although every element differs.
func TestMemoryDoesNotGrowWithTheTensors(t *testing.T) { //nolint:paralleltest // allocations of all tests are counted together
	const rows, columns, most = 1024, 2048, 4 << 20
	bench := random(rows * columns)
	problem := planted([]int64{rows, columns}, bench, func(_ []int64, old float32) float32 { return -old })
	x, y := made(t, []int64{rows, columns}, problem), made(t, []int64{rows, columns}, bench)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	d, err := elements.Diff(t.Context(), x, y, elements.Options{Within: -1})
	runtime.ReadMemStats(&after)
	if err != nil || d.Changed != rows*columns {
		t.Fatalf("Diff() = %+v, %v", d, err)
	}
	if used := after.TotalAlloc - before.TotalAlloc; used > most {
		t.Errorf("Diff() of two tensors of %d bytes allocated %d bytes, want at most %d", 4*rows*columns, used, most)
	}
}
