package program

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// root is the repository, as tests of e2e see it from their folders.
const root = "../.."

// Path is the program, built once for all packages of tests, whichever needs it first.
func Path(tb testing.TB) string {
	tb.Helper()
	path, err := built()
	if err != nil {
		tb.Fatal(err)
	}
	return path
}

var built = sync.OnceValues(build) //nolint:gochecknoglobals // built once a process

// build leaves a program alone that is up to date: the compiler knows. One package builds at a time.
func build() (string, error) {
	path, err := filepath.Abs(filepath.Join(root, "bin", "e2e", "tensortap"))
	if err != nil {
		return "", err
	}
	if err := readSources(); err != nil {
		return "", fmt.Errorf("read the sources of the program: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		return "", err
	}
	lock, err := os.Create(path + ".lock") //nolint:gosec // below the repository
	if err != nil {
		return "", err
	}
	defer lock.Close() //nolint:errcheck // only locked
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return "", fmt.Errorf("wait for who builds the program: %w", err)
	}
	cmd := exec.Command("go", "build", "-ldflags", "-s -w", "-o", path, "./cmd/tensortap") //nolint:noctx,gosec // outlives the test that needs it first
	cmd.Dir = root
	if said, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the program: %w\n%s", err, said)
	}
	return path, nil
}

// readSources opens the folders that the program is made of, so that go test repeats these tests when one of them has changed.
func readSources() error {
	return filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.IsDir() || path == root {
			return err
		}
		name := entry.Name()
		if name == "bin" || name == "e2e" || name == "node_modules" || name == "testdata" || strings.HasPrefix(name, ".") {
			return filepath.SkipDir
		}
		return nil
	})
}
