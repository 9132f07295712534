package msprobe

import (
	"bytes"
	"flag"
	"fmt"
	"io/fs"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tensortap/tensortap/internal/dev/recorded"
	"github.com/tensortap/tensortap/internal/dev/testbed"
)

func TestMain(m *testing.M) {
	flag.Bool("update", false, "write the golden files")
	flag.Parse()
	os.Exit(m.Run())
}

// unpack extracts recorded dumps into a folder of their own and returns it. Without a name it extracts all.
func unpack(tb testing.TB, names ...string) string {
	tb.Helper()
	if len(names) == 0 {
		archives, err := filepath.Glob("testdata/dumps/*.tar.gz")
		if err != nil || len(archives) == 0 {
			tb.Fatalf("no recorded dumps: %v", err)
		}
		for _, a := range archives {
			names = append(names, strings.TrimSuffix(filepath.Base(a), ".tar.gz"))
		}
	}
	dir := tb.TempDir()
	for _, name := range names {
		if err := recorded.Extract("testdata/dumps/"+name+".tar.gz", dir); err != nil {
			tb.Fatalf("unpack %s: %v", name, err)
		}
	}
	return dir
}

// dumpFolders is every folder with a dump.json below the roots.
func dumpFolders(tb testing.TB, roots ...string) []string {
	tb.Helper()
	var dirs []string
	for _, root := range roots {
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
			tb.Fatal(err)
		}
	}
	return dirs
}

func TestEveryDumpHasTheCountsOfAnIndependentReader(t *testing.T) {
	t.Parallel()
	python, err := exec.LookPath("python3")
	if err != nil {
		testbed.Needed(t, "python3 is not in the path")
	}
	dirs := dumpFolders(t, unpack(t), os.Getenv("TENSORTAP_FIXTURES"))
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
		all := readAll(t, Dump{Dir: dir}, 1000)
		if got, want := counts(all), string(lines[i]); got != want {
			t.Errorf("%s: ops, tensors, others, payloads, NaN = %q, want %q", dir, got, want)
		}
		if all.problems.Count > 0 || all.steps[0].Complete != 1 || all.steps[0].DroppedCount != 0 {
			t.Errorf("%s: problems %v, step %+v; want none, complete", dir, all.problems, all.steps[0])
		}
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
	if all.steps[0].TensorCount == 0 {
		ops = 0 // of task structure: construct.json has the ops
	}
	return fmt.Sprintf("%d\t%d\t%d\t%d\t%d", ops, tensors, others, len(all.payloads), nans)
}

// references checks that every id in the rows is defined by a row, or is 0 where that means none.
func references(tb testing.TB, all rows) {
	tb.Helper()
	ops, sites, layouts, stacks := set(all.ops, opIDOf), set(all.sites, siteIDOf), set(all.layouts, layoutIDOf), set(all.stacks, stackIDOf)
	for _, s := range all.sites {
		check(tb, ops, s.OpID, "site.op_id")
	}
	for _, r := range all.tensors {
		check(tb, sites, r.SiteID, "tensor.site_id")
		check(tb, layouts, r.LayoutID, "tensor.layout_id")
	}
	for _, p := range all.programs {
		check(tb, ops, p.OpID, "program.op_id")
		if p.ParentOpID != 0 {
			check(tb, ops, p.ParentOpID, "program.parent_op_id")
		}
	}
	for _, c := range all.calls {
		check(tb, stacks, c.StackID, "program_stack.stack_id")
	}
}
