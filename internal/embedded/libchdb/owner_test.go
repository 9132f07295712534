package libchdb_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tensortap/tensortap/internal/embedded/libchdb"
)

// planted is a library of the right size, and the note that it was compared, as another user can write both.
func planted(t *testing.T, mode os.FileMode, owner int) (folder string) {
	t.Helper()
	requirePlatform(t)
	folder = t.TempDir()
	path := libchdb.Path(folder)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.MkdirAll(filepath.Dir(path), 0o700))
	must(os.WriteFile(path, nil, 0o600))
	must(os.Truncate(path, libchdb.Size)) // a hole: it takes no room
	info, err := os.Stat(path)
	must(err)
	note := fmt.Sprintf("sha256 %s size %d mtime_ns %d\n", libchdb.SHA256, info.Size(), info.ModTime().UnixNano())
	must(os.WriteFile(path+".checked", []byte(note), 0o600))
	for _, file := range []string{path, path + ".checked"} {
		must(os.Chmod(file, mode))
		must(os.Chown(file, owner, owner))
	}
	return folder
}

func TestALibraryThatOtherUsersCouldWriteIsNotLoaded(t *testing.T) {
	t.Parallel()
	folder := planted(t, 0o666, -1)
	for _, places := range []libchdb.Places{{UserFolder: folder}, {Explicit: libchdb.Path(folder)}} {
		if _, err := libchdb.Locate(places); err == nil || !strings.Contains(err.Error(), "other users may change") {
			t.Errorf("%+v: got %v, want that others may change it", places, err)
		}
	}
}

func TestALibraryOfAnotherUserIsNotLoaded(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: only root can be two users")
	}
	const stranger = 47111
	folder := planted(t, 0o644, stranger)
	if _, err := libchdb.Locate(libchdb.Places{UserFolder: folder}); err == nil || !strings.Contains(err.Error(), "belongs to another user, 47111") {
		t.Errorf("got %v, want that it belongs to another", err)
	}
	if _, err := libchdb.Locate(libchdb.Places{Explicit: libchdb.Path(folder)}); err == nil || !strings.Contains(err.Error(), "sha256") {
		t.Errorf("named: got %v, want that the other user's note is not believed", err)
	}
}
