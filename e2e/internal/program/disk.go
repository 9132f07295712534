package program

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// MountSmall mounts a disk of so many bytes as the folder until the test ends. Its error says that this is not allowed here.
func MountSmall(tb testing.TB, dir, size string) error {
	tb.Helper()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		tb.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size="+size); err != nil {
		return err
	}
	tb.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
	return nil
}

// Fill leaves so many bytes of the disk, and returns what makes room again.
func Fill(tb testing.TB, dir string, leave int) (empty func()) {
	tb.Helper()
	path := filepath.Join(dir, "ballast")
	file, err := os.Create(path)
	if err != nil {
		tb.Fatal(err)
	}
	size, err := io.Copy(file, endless{})
	if !errors.Is(err, syscall.ENOSPC) {
		tb.Fatalf("fill %s: %v after %d bytes", dir, err, size)
	}
	if err := errors.Join(file.Truncate(max(0, size-int64(leave))), file.Close()); err != nil {
		tb.Fatal(err)
	}
	return func() {
		if err := os.Remove(path); err != nil {
			tb.Fatal(err)
		}
	}
}

type endless struct{}

// Read implements io.Reader.
func (endless) Read(b []byte) (int, error) { return len(b), nil }

// SaysFull is whether a part of the system says that its disk is full.
func SaysFull(said string) bool {
	for _, words := range []string{"no space left on device", "NOT_ENOUGH_SPACE", "ot enough space", "insufficient storage", "No space left"} {
		if strings.Contains(said, words) {
			return true
		}
	}
	return false
}
