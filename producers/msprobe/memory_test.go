package msprobe

import (
	"runtime"
	"testing"
)

func TestMemoryDoesNotGrowWithTheFile(t *testing.T) { //nolint:paralleltest // measures the heap of the whole process
	size := 200 << 20
	if testing.Short() {
		size /= 2
	}
	dump := bigDump(t, size)
	source, err := Open(dump, DefaultOptions("a run"))
	if err != nil {
		t.Fatal(err)
	}
	var before, now runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	peak, rows := uint64(0), 0
	for m, err := range source.Batches(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		rows += m.Header.Rows
		if m.Header.Kind == "tensor" {
			runtime.ReadMemStats(&now)
			peak = max(peak, now.HeapInuse-min(now.HeapInuse, before.HeapInuse))
		}
	}
	if p := source.Problems(); p.Count > 0 {
		t.Errorf("%d problems, the first: %s", p.Count, p.First[0])
	}
	t.Logf("%d MiB of dump.json, %d rows: peak heap %d MiB", source.Bytes()>>20, rows, peak>>20)
	if peak > 96<<20 {
		t.Errorf("peak heap %d MiB for %d MiB of dump.json, want at most 96", peak>>20, source.Bytes()>>20)
	}
}
