package main

import (
	"encoding/csv"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/tensortap/tensortap/internal/testbed"
)

// TestTheCollectorSeesWhatMsprobeSees trains the same model once under the msProbe that TENSORTAP_MSPROBE names (`make
// msprobe` installs one) and once under the collector, exports that, and has msProbe compare the two.
func TestTheCollectorSeesWhatMsprobeSees(t *testing.T) {
	t.Parallel()
	msprobe := testbed.Msprobe(t)
	u := startUp(t, t.TempDir())
	root := filepath.Join(u.data, "spool")
	for _, c := range []struct{ model, level string }{{"llama", "L0"}, {"llama", "L1"}, {"llama", "mix"}, {"resnet18", "mix"}, {"ddp", "mix"}} {
		name := c.model + "-" + c.level
		theirs, ours, exported := filepath.Join(t.TempDir(), "theirs"), filepath.Join(t.TempDir(), name), filepath.Join(t.TempDir(), "export")
		trainTruth(t, msprobe, root, "msprobe.pytorch", c.model, c.level, theirs)
		trainTruth(t, msprobe, root, "tensortap", c.model, c.level, ours)
		served(t, root)
		u.settle(t)
		if out := inside(t, u.setting, "export", "msprobe", "--run", name, exported); out.status != 0 {
			t.Fatalf("export %s: status %d\n%s%s", name, out.status, out.stdout, out.stderr)
		}
		nameRanks(t, theirs)
		for step := range 2 {
			requireSameTruth(t, fmt.Sprintf("%s step %d", name, step), compareSteps(t, msprobe, exported, theirs, step))
		}
	}
}

// trainTruth runs the script with the Python that msProbe is installed in.
func trainTruth(t *testing.T, msprobe, root string, args ...string) {
	t.Helper()
	collector, err := filepath.Abs("../../producers/torch")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), filepath.Join(filepath.Dir(msprobe), "python"), append([]string{"-m", "tests.truth"}, args...)...) //nolint:gosec // named by who runs the test
	cmd.Dir = collector
	cmd.Env = append(os.Environ(), "TENSORTAP_SPOOL="+root, "OMP_NUM_THREADS=1", "PYTHONDONTWRITEBYTECODE=1")
	if said, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("train %q: %v\n%s", args, err, said)
	}
}

// nameRanks calls the folder of a process that is no rank of several what an export calls it: msProbe pairs by name.
func nameRanks(t *testing.T, dump string) {
	t.Helper()
	alone, err := filepath.Glob(filepath.Join(dump, "step*", "proc*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, folder := range alone {
		if err := os.Rename(folder, filepath.Join(filepath.Dir(folder), "rank0")); err != nil {
			t.Fatal(err)
		}
	}
}

// compareSteps returns the rows of msProbe's answers, of all ranks.
func compareSteps(t *testing.T, msprobe, problem, bench string, step int) []map[string]string {
	t.Helper()
	folder := fmt.Sprintf("step%d", step)
	var rows []map[string]string
	for _, file := range testbed.MsprobeCompares(t, msprobe, filepath.Join(problem, folder), filepath.Join(bench, folder)) {
		rows = append(rows, readAnswer(t, file)...)
	}
	return rows
}

func readAnswer(t *testing.T, file string) []map[string]string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	records, err := csv.NewReader(strings.NewReader(strings.TrimPrefix(string(text), "\ufeff"))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	rows := make([]map[string]string, len(records)-1)
	for i, record := range records[1:] {
		rows[i] = map[string]string{}
		for column, value := range record {
			rows[i][records[0][column]] = value
		}
	}
	return rows
}

// roundingOfNorms is what msProbe says where its own float32 norms of an input and an output are off by other round-offs.
const roundingOfNorms = "warning: The norm relative error of output is 10 times that of input."

// requireSameTruth wants every row paired, extremes equal, and means and norms as near as float32 computes them.
func requireSameTruth(t *testing.T, name string, rows []map[string]string) {
	t.Helper()
	warned := 0
	for _, row := range rows {
		op := row["NPU Name"] + " | " + row["Bench Name"]
		switch {
		case row["Result"] == "pass":
		case strings.Contains(row["Err_message"], roundingOfNorms):
			warned++
		default:
			t.Errorf("%s: %s: %s %s", name, op, row["Result"], row["Err_message"])
		}
		if figure(row["Max diff"]) != 0 || figure(row["Min diff"]) != 0 {
			t.Errorf("%s: %s: extremes differ: %s, %s", name, op, row["Max diff"], row["Min diff"])
		}
		if diff, norm := math.Abs(figure(row["L2norm diff"])), math.Abs(figure(row["Bench l2norm"])); diff > 1e-5*norm {
			t.Errorf("%s: %s: norms differ by %v of %v", name, op, diff, norm)
		}
	}
	t.Logf("%s: %d rows, all but %d pass; those are warnings about the rounding of norms", name, len(rows), warned)
	if len(rows) == 0 {
		t.Errorf("%s: msProbe compared nothing", name)
	}
}

// figure is 0 where msProbe has none.
func figure(text string) float64 {
	value, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(value) {
		return 0
	}
	return value
}
