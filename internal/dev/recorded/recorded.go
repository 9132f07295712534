// Package recorded unpacks, for tests and benchmarks, the dumps that msProbe recorded.
package recorded

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/tensortap/tensortap/internal/untar"
)

// Dumps is the folder of recorded dumps.
func Dumps() string { return filepath.Join(Root(), "producers", "msprobe", "testdata", "dumps") }

// Root is the folder of the repository, above the folder of a test; the working directory where there is none.
func Root() string {
	const deepest = 6
	root := "."
	for range deepest {
		if _, err := os.Stat(filepath.Join(root, "go.mod")); err == nil {
			return root
		}
		root = filepath.Join("..", root)
	}
	return "."
}

// Unpack extracts a recorded dump into a folder of its own, and returns its folder dump.
func Unpack(tb testing.TB, name string) string {
	tb.Helper()
	dir := tb.TempDir()
	if err := Extract(filepath.Join(Dumps(), name+".tar.gz"), dir); err != nil {
		tb.Fatalf("unpack %s: %v", name, err)
	}
	return filepath.Join(dir, name, "dump")
}

// Extract writes the files of an archive below a folder.
func Extract(archive, dir string) (err error) {
	file, err := os.Open(archive)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	return untar.Extract(file, dir)
}
