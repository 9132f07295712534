package libchdb_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/tensortap/tensortap/internal/embedded/libchdb"
)

func TestMissingLibraryNamesTheRemedy(t *testing.T) {
	t.Parallel()
	requirePlatform(t)
	for name, places := range map[string]libchdb.Places{
		"nowhere":  {UserFolder: t.TempDir(), Tree: t.TempDir()},
		"explicit": {Explicit: filepath.Join(t.TempDir(), "libchdb.so")},
	} {
		if _, err := libchdb.Locate(places); err == nil || !strings.Contains(err.Error(), "tensortap engine install") {
			t.Errorf("%s: got %v, want the command that mends it", name, err)
		}
	}
}

func TestDamagedLibraryNamesTheRemedy(t *testing.T) {
	t.Parallel()
	requirePlatform(t)
	folder := t.TempDir()
	path := libchdb.Path(folder)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, size := range map[string]int64{"bytes, version": 1000, "sha256": libchdb.Size} {
		if err := os.WriteFile(path, []byte("damaged"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(path, size); err != nil { // a hole: it takes no room
			t.Fatal(err)
		}
		_, err := libchdb.Locate(libchdb.Places{UserFolder: folder})
		if err == nil || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), "tensortap engine install") {
			t.Errorf("%d bytes: got %v, want one that names %q and the command that mends it", size, err, name)
		}
	}
}

func TestInstallRefusesWhatIsNotThePinnedLibrary(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	for name, content := range map[string]string{"library": "\x7fELF not it", "package": "\x1f\x8b not it", "empty": ""} {
		from := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(from, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := libchdb.Install(t.Context(), from, folder); err == nil || !strings.Contains(err.Error(), from) {
			t.Errorf("%s: got %v, want an error that names the file", name, err)
		}
	}
	left, err := filepath.Glob(filepath.Join(folder, "*", "*"))
	if err != nil || len(left) != 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}

func TestInstallTakesLibraryAndPackage(t *testing.T) {
	t.Parallel()
	for _, variable := range []string{"TENSORTAP_ENGINE", "TENSORTAP_ENGINE_PACKAGE"} {
		from := os.Getenv(variable)
		if from == "" {
			t.Logf("%s is not set", variable)
			continue
		}
		folder := t.TempDir()
		path, err := libchdb.Install(t.Context(), from, folder)
		if err != nil {
			t.Fatal(err)
		}
		found, err := libchdb.Locate(libchdb.Places{UserFolder: folder})
		if err != nil || found != path {
			t.Errorf("%s: Locate: got %s %v, want %s", variable, found, err, path)
		}
		// The check is quick only while the file is the checked one.
		file, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := file.WriteAt([]byte("x"), 1<<20); err != nil {
			t.Fatal(err)
		}
		if err := file.Close(); err != nil {
			t.Fatal(err)
		}
		if err := libchdb.Check(path); err == nil {
			t.Errorf("%s: a changed byte was not noticed", variable)
		}
	}
}

func TestFetchInstallsWithNpm(t *testing.T) {
	t.Parallel()
	if os.Getenv("TENSORTAP_TEST_FETCH") == "" {
		t.Skip("NOT TESTED: downloads 178 MB; set TENSORTAP_TEST_FETCH to run it")
	}
	folder := t.TempDir()
	path, err := libchdb.Fetch(t.Context(), folder, t.Output())
	if err != nil {
		t.Fatal(err)
	}
	if err := libchdb.Check(path); err != nil {
		t.Error(err)
	}
	if left, err := filepath.Glob(filepath.Join(folder, "fetch-*")); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}

func TestLockNamesTheVersionAndNoServer(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("package-lock.json")
	if err != nil {
		t.Fatal(err)
	}
	if match := regexp.MustCompile(`https?:|"resolved"`).Find(text); match != nil {
		t.Errorf("package-lock.json has %s", match)
	}
	var lock struct {
		Packages map[string]struct{ Version, Integrity string }
	}
	if err := json.Unmarshal(text, &lock); err != nil {
		t.Fatal(err)
	}
	entry := lock.Packages["node_modules/@chdb/lib-linux-x64-gnu"]
	if entry.Version != libchdb.Version || !strings.HasPrefix(entry.Integrity, "sha512-") {
		t.Errorf("package-lock.json pins %+v, want version %s and a sha512", entry, libchdb.Version)
	}
}

func requirePlatform(t *testing.T) {
	t.Helper()
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		t.Skip("the pin is for linux/amd64")
	}
}
