package system

import (
	"os"
	"strings"
	"testing"
)

func TestAPathIsWrittenWithASeparator(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{
		"bad": false, "bad/": true, "./bad": true, "a/b": true, "/a": true, ".": true, "..": true, ".bad": false, "...": false, "": false, "dump.json": false,
	} {
		if got := writtenAsPath(name); got != want {
			t.Errorf("writtenAsPath(%q) = %v, want %v", name, got, want)
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
	if got, want := folderHint("bad"), "; for the folder of that name write ./bad"; got != want {
		t.Errorf("folderHint gives %q, want %q", got, want)
	}
	if got := folderHint("./bad") + folderHint("worse"); got != "" {
		t.Errorf("folderHint gives %q of what needs none", got)
	}
	for _, dirs := range [][2]string{{"./bad", "good/"}, {".", "./bad"}} {
		if r.Problem, r.Benches[0] = dirs[0], dirs[1]; !r.FoldersOnly() || r.CheckFolders() != nil {
			t.Errorf("%q are no folders: %v", dirs, r.CheckFolders())
		}
	}
	for sides, want := range map[[2]string]string{
		{"./bad", "./worse"}: "no such folder: ./worse",
		{"./bad", "no/such"}: "no such folder: no/such; to compare ./bad with a run of that name, publish the folder first: tensortap publish msprobe ./bad",
		{"./bad", "good"}:    "./bad is a folder, and good is the name of a run; for the folder of that name write ./good; to compare the folder with the run, publish the folder first",
	} {
		r.Problem, r.Benches[0] = sides[0], sides[1]
		if err := r.CheckFolders(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", sides, err, want)
		}
	}
}

func TestAPathAtWhichNothingIsMayBeTheNameOfARun(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("file", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	r := DefaultCompareRequest()
	r.Problem, r.Benches = "team/bad", []string{"file/good"}
	if err := r.CheckFolders(); r.FoldersOnly() || err != nil {
		t.Errorf("names are folders: %v, %v", r.FoldersOnly(), err)
	}
	for name, want := range map[string]string{
		"team/bad": "no such folder: team/bad, so it is the name of a run", "file": "file is the name of a run; for the folder of that name write ./file",
	} {
		if got := NamesRun(name); got != want {
			t.Errorf("NamesRun(%q) = %q, want %q", name, got, want)
		}
	}
	if err := os.Mkdir("team", 0o700); err != nil {
		t.Fatal(err)
	}
	if r.Problem, r.Benches = "team/", []string{"./file"}; !r.FoldersOnly() {
		t.Error("paths that exist are no folders")
	}
	if r.Stored = true; r.FoldersOnly() || r.CheckFolders() != nil {
		t.Error("runs are folders though the request says that they are none")
	}
}
