package durable

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
)

func TestWriteFileReplacesWhatIsThere(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "file")
	for _, text := range []string{"first", "", "NaN \x00 ∞"} {
		if err := WriteFile(path, strings.NewReader(text)); err != nil {
			t.Fatal(err)
		}
		checkOnly(t, path, text)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode is %v, error %v, want a file for this user alone", info.Mode(), err)
	}
}

func TestWriteFileLeavesTheOldFileWhenItFails(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "file")
	if err := WriteFile(path, strings.NewReader("old")); err != nil {
		t.Fatal(err)
	}
	broken := errors.New("broken")
	if err := WriteFile(path, iotest.ErrReader(broken)); !errors.Is(err, broken) {
		t.Errorf("WriteFile = %v, want that its source is broken", err)
	}
	checkOnly(t, path, "old")
}

func TestWriteFileNamesTheFolderThatIsMissing(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "none")
	if err := WriteFile(filepath.Join(folder, "file"), strings.NewReader("")); err == nil || !strings.Contains(err.Error(), folder) {
		t.Errorf("WriteFile = %v, want an error that names %s", err, folder)
	}
	if err := SyncFolder(folder); err == nil || !strings.Contains(err.Error(), folder) {
		t.Errorf("SyncFolder = %v, want an error that names %s", err, folder)
	}
}

// checkOnly checks the file's content, and that nothing is beside it.
func checkOnly(t *testing.T, path, want string) {
	t.Helper()
	got, err := os.ReadFile(path)
	if err != nil || string(got) != want {
		t.Fatalf("%s holds %q, error %v, want %q", path, got, err, want)
	}
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(entries) != 1 {
		t.Fatalf("the folder holds %v, error %v, want the file alone", entries, err)
	}
}
