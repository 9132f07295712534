package logs_test

import (
	"syscall"
	"testing"
)

// stored is how many bytes of the disk a file takes.
func stored(tb testing.TB, path string) int64 {
	tb.Helper()
	var info syscall.Stat_t
	if err := syscall.Stat(path, &info); err != nil {
		tb.Fatal(err)
	}
	return info.Blocks * 512
}
