// Package recorded unpacks, for tests and benchmarks, the dumps that msProbe recorded.
package recorded

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
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
	plain, err := gzip.NewReader(file)
	if err != nil {
		return err
	}
	for members := tar.NewReader(plain); ; {
		member, err := members.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := write(filepath.Join(dir, filepath.FromSlash(member.Name)), member, members); err != nil { //nolint:gosec // our own archives
			return err
		}
	}
}

func write(path string, member *tar.Header, content io.Reader) error {
	if member.Typeflag == tar.TypeDir {
		return os.MkdirAll(path, 0o700)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	text, err := io.ReadAll(content)
	if err != nil {
		return err
	}
	return os.WriteFile(path, text, 0o600)
}
