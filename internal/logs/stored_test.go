package logs_test

import (
	"syscall"
	"testing"
)

// stored is the number of bytes of a file on the disk.
func stored(tb testing.TB, path string) int64 {
	tb.Helper()
	var info syscall.Stat_t
	if err := syscall.Stat(path, &info); err != nil {
		tb.Fatal(err)
	}
	return info.Blocks * 512
}
