package msprobe

import (
	"bytes"
	"fmt"
	"io/fs"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// dumpFolders is every folder with a dump.json below the folder that TENSORTAP_FIXTURES names, and below testdata.
func dumpFolders(t testing.TB) []string {
	t.Helper()
	var dirs []string
	for _, root := range []string{"testdata", os.Getenv("TENSORTAP_FIXTURES")} {
		if root == "" {
			continue
		}
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.Name() == dumpFile {
				dirs = append(dirs, filepath.Dir(path))
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return dirs
}

func TestEveryDumpHasTheCountsOfAnIndependentReader(t *testing.T) {
	t.Parallel()
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("no python3")
	}
	dirs := dumpFolders(t)
	if len(dirs) == 0 {
		t.Fatal("no dumps in testdata")
	}
	args := []string{"testdata/count_dump.py"}
	for _, dir := range dirs {
		args = append(args, filepath.Join(dir, dumpFile))
	}
	out, err := exec.CommandContext(t.Context(), python, args...).Output()
	if err != nil {
		t.Fatalf("count_dump.py: %v", err)
	}
	lines := bytes.Split(bytes.TrimSpace(out), []byte("\n"))
	if len(lines) != len(dirs) {
		t.Fatalf("%d lines for %d dumps", len(lines), len(dirs))
	}
	for i, dir := range dirs {
		t.Run(dir, func(t *testing.T) {
			t.Parallel()
			got := counts(readAll(t, Dump{Dir: dir}, 1000))
			if want := string(lines[i]); got != want {
				t.Errorf("ops, tensors, others, payloads, NaN = %q, want %q", got, want)
			}
		})
	}
}

func counts(all rows) string {
	kinds := make(map[uint64]string)
	for _, l := range all.layouts {
		kinds[l.LayoutID] = l.Kind
	}
	var tensors, others, nans int
	for _, row := range all.tensors {
		if kinds[row.LayoutID] != kindTensor {
			others++
			continue
		}
		tensors++
		if math.IsNaN(row.ValueMax) || math.IsNaN(row.ValueMin) || math.IsNaN(row.ValueMean) || math.IsNaN(row.ValueL2) {
			nans++
		}
	}
	ops := all.steps[0].OpCount
	if len(all.tensors) == 0 && all.steps[0].TensorCount == 0 && len(all.sites) == 0 {
		ops = 0 // of task structure: the ops are those of construct.json
	}
	return fmt.Sprintf("%d\t%d\t%d\t%d\t%d", ops, tensors, others, len(all.payloads), nans)
}
