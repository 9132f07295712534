package collector

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tensortap/tensortap/e2e/internal/program"
	"github.com/tensortap/tensortap/e2e/internal/torch"
)

// TestChildrenThatCallTheModelAreProcessesOfTheirOwn has them begun and ended in every way: run ends with the program's status, and all of theirs is stored.
func TestChildrenThatCallTheModelAreProcessesOfTheirOwn(t *testing.T) {
	t.Parallel()
	python := torch.Python(t)
	up := program.StartUp(t, t.TempDir())
	twice := []string{"sh", "-c", `"$0" testdata/children.py child && "$0" testdata/children.py child`, python}
	for _, c := range []struct { //nolint:paralleltest // one after the other: each has a dozen processes
		name            string
		job             []string
		ranks, children int
	}{
		{"warm", []string{python, "testdata/children.py", "warm"}, 11, 9},
		{"cold", []string{python, "testdata/children.py", "cold"}, 2, 2}, // all are children
		{"outlived", []string{python, "testdata/children.py", "outlived=3"}, 2, 1},
		{"restarted", []string{filepath.Join(filepath.Dir(python), "torchrun"), "--nproc-per-node", "2", "--max-restarts", "1", "testdata/children.py", "restarted"}, 2, 0}, // which are no others
		{"sequence", twice, 2, 0}, // programs of one launch, one after the other
	} {
		t.Run(c.name, func(t *testing.T) {
			out := program.Run(t, up.Setting, append([]string{"run", "--run", c.name, "--"}, c.job...)...)
			if out.Status != 0 { // as where it has waited in vain for what a process left
				t.Fatal(out)
			}
			up.Settle(t)
			answer := program.Run(t, up.Setting, "query", "--output", "csv", fmt.Sprintf(
				`SELECT count(), countIf(child = 1), (SELECT uniqExact(rank) FROM tap.tensors WHERE run = '%[1]s') FROM tap.ranks WHERE run = '%[1]s'`, c.name))
			if want := fmt.Sprintf("%d,%d,%[1]d", c.ranks, c.children); !strings.HasSuffix(strings.TrimSpace(answer.Stdout), want) {
				t.Errorf("ranks, those of children, and ranks with tensors: want %s: %v\nrun: %v", want, answer, out)
			}
		})
	}
	if !program.Published(filepath.Join(up.Data, "spool")) {
		t.Error("something stays in the spool")
	}
}
