package answers

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tensortap/tensortap/e2e/internal/program"
	"github.com/tensortap/tensortap/internal/dev/recorded"
)

func TestAStoredRunIsExportedAsMsprobeWritesIt(t *testing.T) {
	t.Parallel()
	u := program.StartUp(t, t.TempDir())
	original := recorded.Unpack(t, "D_tp_rank1_nan")
	u.Publish(t, original, "tp nan")
	dir := filepath.Join(t.TempDir(), "new", "dump")

	out := program.Run(t, u.Setting, "export", "msprobe", "--run", "tp nan", dir, "--rank", "1", "--steps", "1-")
	if out.Status != 0 || !strings.HasPrefix(out.Stdout, "run tp nan: wrote ") || out.Stderr != "" {
		t.Fatalf("export: %v", out)
	}
	requireFolders(t, dir, "step1/rank1/construct.json", "step1/rank1/dump.json", "step1/rank1/stack.json")
	want, got := readFile(t, filepath.Join(original, "step1", "rank1", "dump.json")), readFile(t, filepath.Join(dir, "step1", "rank1", "dump.json"))
	if strings.Count(got, "NaN") == 0 || strings.Count(got, "NaN") != strings.Count(want, "NaN") {
		t.Errorf("%d times NaN was exported, of %d", strings.Count(got, "NaN"), strings.Count(want, "NaN"))
	}

	for _, refused := range []struct {
		args []string
		says string
	}{
		{[]string{"--run", "tp nan", dir}, "is not empty"},
		{[]string{"--run", "tp nan", filepath.Join(dir, "other"), "--steps", "7"}, "none of its steps"},
		{[]string{"--run", "nobody", filepath.Join(dir, "other")}, "nobody"},
		{[]string{"--run", "tp nan", filepath.Join(dir, "step1", "rank1", "dump.json")}, "folder for the dump"},
	} {
		out := program.Run(t, u.Setting, append([]string{"export", "msprobe"}, refused.args...)...)
		if out.Status != program.ExitError || !strings.Contains(out.Stderr, refused.says) {
			t.Errorf("export %q: %v, want an error that says %q", refused.args, out, refused.says)
		}
	}
}

// requireFolders demands that below dir there are these files and no others.
func requireFolders(t *testing.T, dir string, want ...string) {
	t.Helper()
	var got []string
	err := filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			relative, _ := filepath.Rel(dir, path)
			got = append(got, relative)
		}
		return err
	})
	if err != nil || strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("files %q, %v, want %q", got, err, want)
	}
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestAStepThatWasCutShortIsExportedAsOne(t *testing.T) {
	t.Parallel()
	u := program.StartUp(t, t.TempDir())
	original := recorded.Unpack(t, "B00_golden_L0")
	path := filepath.Join(original, "step0", "rank0", "dump.json")
	if err := os.Truncate(path, 100_000); err != nil {
		t.Fatal(err)
	}
	if out := program.Run(t, u.Setting, "publish", "msprobe", original, "--run", "cut"); out.Status != program.ExitError || !strings.Contains(out.Stderr, "is not stored whole") {
		t.Fatalf("publish: %v", out)
	}
	dir := filepath.Join(t.TempDir(), "dump")
	if out := program.Run(t, u.Setting, "export", "msprobe", "--run", "cut", dir); out.Status != 0 || !strings.Contains(out.Stderr, "INCOMPLETE: run cut rank 0") {
		t.Fatalf("export: %v", out)
	}
	if log := readFile(t, filepath.Join(dir, "step0", "rank0", "dump_error_info.log")); !strings.Contains(log, "ops or rows are missing") {
		t.Errorf("what is missing is logged as %q", log)
	}
	if out := program.Run(t, u.Setting, "publish", "msprobe", dir, "--run", "cut again"); out.Status != 0 {
		t.Fatalf("publish the export: %v", out)
	}
	if out := program.Run(t, u.Setting, "report", "completeness", "--run", "cut again"); !strings.Contains(out.Stderr, "INCOMPLETE: run cut again rank 0") {
		t.Errorf("completeness of the export: %v", out)
	}
}
