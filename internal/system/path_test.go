package system

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestAPathIsWrittenWithASeparator(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{
		"bad": false, "bad/": true, "./bad": true, "a/b": true, "/a": true, ".": true, "..": true, ".bad": false, "...": false, "": false, "dump.json": false,
	} {
		if got := IsPath(name); got != want {
			t.Errorf("IsPath(%q) = %v, want %v", name, got, want)
		}
	}
}

func TestAFolderInTheWorkingDirectoryDoesNotHideARun(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, dir := range []string{"bad", "good"} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	r := DefaultCompareRequest()
	r.Problem, r.Benches = "bad", []string{"good"}
	if err := r.CheckFolders(); r.FoldersOnly() || err != nil {
		t.Errorf("names are folders: %v, %v", r.FoldersOnly(), err)
	}
	if got, want := FolderHint("bad"), "; for the folder of that name write ./bad"; got != want {
		t.Errorf("FolderHint gives %q, want %q", got, want)
	}
	if got := FolderHint("./bad") + FolderHint("worse"); got != "" {
		t.Errorf("FolderHint gives %q of what needs none", got)
	}
	for _, dirs := range [][2]string{{"./bad", "good/"}, {".", "./bad"}} {
		if r.Problem, r.Benches[0] = dirs[0], dirs[1]; !r.FoldersOnly() || r.CheckFolders() != nil {
			t.Errorf("%q are no folders: %v", dirs, r.CheckFolders())
		}
	}
	for sides, want := range map[[2]string]string{
		{"./bad", "./worse"}: "no such folder: ./worse",
		{"bad", "no/such"}:   "no such folder: no/such",
		{"./bad", "good"}:    "./bad is a folder and another side a stored run: publish it first",
	} {
		r.Problem, r.Benches[0] = sides[0], sides[1]
		if err := r.CheckFolders(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", sides, err, want)
		}
	}
	overflow := DefaultOverflowRequest()
	if overflow.Run = filepath.Join("no", "such"); overflow.Validate() == nil || !overflow.Folder() {
		t.Errorf("%s is taken for a folder that is there", overflow.Run)
	}
}
