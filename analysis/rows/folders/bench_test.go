package folders

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// BenchmarkOpen reads the two folders below TENSORTAP_BENCH_DUMPS.
func BenchmarkOpen(b *testing.B) {
	dirs, _ := filepath.Glob(filepath.Join(os.Getenv("TENSORTAP_BENCH_DUMPS"), "*"))
	if os.Getenv("TENSORTAP_BENCH_DUMPS") == "" || len(dirs) != 2 {
		b.Skip("TENSORTAP_BENCH_DUMPS names no folder of two dumps")
	}
	b.ReportAllocs()
	for b.Loop() {
		s, err := Open(b.Context(), []Folder{{"problem", dirs[0]}, {"bench", dirs[1]}}, nil)
		if err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		var memory runtime.MemStats
		runtime.ReadMemStats(&memory)
		b.ReportMetric(float64(memory.HeapSys)/1e6, "heap_MB")
		runtime.GC()
		runtime.ReadMemStats(&memory)
		b.ReportMetric(float64(memory.HeapAlloc)/1e6, "kept_MB")
		runtime.KeepAlive(s)
		b.StartTimer()
	}
}
