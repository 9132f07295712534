package durable

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

func TestALockIsGivenBackWhileAProcessThatIsStartedHasItsFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "lock")
	first := lock(t, path)
	started, err := syscall.Dup(int(first.Fd())) // as between fork and exec
	ok(t, err)
	defer syscall.Close(started) //nolint:errcheck // nothing was written
	ok(t, Unlock(first))
	ok(t, Unlock(lock(t, path)))
}

func lock(t *testing.T, path string) *os.File {
	t.Helper()
	file, err := os.Create(filepath.Clean(path))
	ok(t, err)
	ok(t, syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB))
	return file
}

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
