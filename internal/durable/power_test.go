package durable

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tensortap/tensortap/internal/dev/forgetful"
)

func TestMain(m *testing.M) {
	if forgetful.Serve() {
		return
	}
	os.Exit(m.Run())
}

func TestALossOfPowerTakesNoFileAndNoFolder(t *testing.T) {
	t.Parallel()
	d := forgetful.Mount(t)
	below := filepath.Join("a", "b", "c")
	for operations := range 12 { // a process before this one was killed there
		d.RefuseAfter(operations)
		_ = MakeFolder(filepath.Join(d.Dir, below))
		d.Heal()
	}
	for _, text := range []string{"first", "second"} {
		if err := MakeFolder(filepath.Join(d.Dir, below)); err != nil {
			t.Fatal(err)
		}
		if err := WriteFile(filepath.Join(d.Dir, below, "file"), strings.NewReader(text)); err != nil {
			t.Fatal(err)
		}
		d.Mark(text)
	}
	d.Recording().Recover(t, 1, func(dir string, m *forgetful.Moment) {
		got, err := os.ReadFile(filepath.Join(dir, below, "file"))
		wanted := map[string]bool{"": len(m.Marks) == 0, "first": len(m.Marks) < 2, "second": len(m.Marks) > 0}
		if len(m.Marks) > 0 && err != nil || !wanted[string(got)] {
			t.Errorf("the file holds %q, %v", got, err)
		}
	})
}

func TestMakeFolderSaysWhatIsInTheWay(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, folder := range []string{path, filepath.Join(path, "below")} {
		if err := MakeFolder(folder); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("MakeFolder(%s) = %v, want an error that names the file", folder, err)
		}
	}
}
