package torch_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/tensortap/tensortap/producers/torch"
)

func TestEveryFileOfThePackageIsUnpackedBesideWhatStartsIt(t *testing.T) {
	t.Parallel()
	unpacked, err := torch.Unpack(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files(t, os.DirFS("src")) {
		if _, err := os.Stat(filepath.Join(unpacked, name)); err != nil {
			t.Errorf("a file of the collector is not in the executable: %v", err)
		}
	}
	for _, name := range []string{"sitecustomize.py", "tensortap_boot.py", filepath.Join(torch.StandIn, "msprobe", "pytorch", "__init__.py")} {
		if _, err := os.Stat(filepath.Join(unpacked, name)); err != nil {
			t.Error(err)
		}
	}
}

// files are those that make the package, by their paths; what Python keeps of its own is none.
func files(t *testing.T, root fs.FS) []string {
	t.Helper()
	var found []string
	err := fs.WalkDir(root, ".", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (entry.Name() == "__pycache__" || filepath.Ext(path) == ".egg-info"):
			return fs.SkipDir
		case !entry.IsDir() && filepath.Ext(path) != ".new":
			found = append(found, path)
		}
		return nil
	})
	if err != nil || len(found) == 0 {
		t.Fatalf("walk the files: %v, %d found", err, len(found))
	}
	return found
}
