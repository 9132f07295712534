package collector

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/tensortap/tensortap/e2e/internal/program"
	"github.com/tensortap/tensortap/internal/dev/testbed"
)

// TestTheCollectorSeesWhatMsprobeSees trains the same model once under the msProbe that TENSORTAP_MSPROBE names (`make
// msprobe` installs one) and once under the collector, exports that, and has msProbe compare the two.
func TestTheCollectorSeesWhatMsprobeSees(t *testing.T) {
	t.Parallel()
	msprobe := testbed.Msprobe(t)
	u := program.StartUp(t, t.TempDir())
	root := filepath.Join(u.Data, "spool")
	for _, c := range []struct{ model, level string }{{"llama", "L0"}, {"llama", "L1"}, {"llama", "mix"}, {"resnet18", "mix"}, {"ddp", "mix"}} {
		name := c.model + "-" + c.level
		theirs, ours, exported := filepath.Join(t.TempDir(), "theirs"), filepath.Join(t.TempDir(), name), filepath.Join(t.TempDir(), "export")
		trainTruth(t, msprobe, root, "msprobe.pytorch", c.model, c.level, theirs)
		trainTruth(t, msprobe, root, "tensortap", c.model, c.level, ours)
		program.Served(t, root)
		u.Settle(t)
		if out := program.Run(t, u.Setting, "export", "msprobe", "--run", name, exported); out.Status != 0 {
			t.Fatalf("export %s: status %d\n%s%s", name, out.Status, out.Stdout, out.Stderr)
		}
		nameRanks(t, theirs)
		for step := range 2 {
			requireSameStructure(t, filepath.Join(exported, fmt.Sprint("step", step)), filepath.Join(theirs, fmt.Sprint("step", step)))
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
	cmd.Env = append(os.Environ(), "PYTHONPATH=src", "TENSORTAP_SPOOL="+root, "OMP_NUM_THREADS=1", "PYTHONDONTWRITEBYTECODE=")
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

// roundOffs is how many times its unit and the root of the count torch's float32 norm, which is what msProbe takes, may be off: of
// Llama's gradients up to 2, as torch's own float64 tells, and more for random tensors that are not contiguous.
const roundOffs = 4

// requireSameTruth wants every row paired, extremes equal, and means and norms as near as float32 computes them.
func requireSameTruth(t *testing.T, name string, rows []map[string]string) {
	t.Helper()
	warned, worst := 0, 0.0
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
		off := inRoundOffs(row)
		if worst = max(worst, off); off > roundOffs {
			t.Errorf("%s: %s: norms are %.1f round-offs apart: %s of %s", name, op, off, row["L2norm diff"], row["Bench l2norm"])
		}
	}
	t.Logf("%s: %d rows, all but %d pass; those are warnings about the rounding of norms, of which the worst are %.1f round-offs apart", name, len(rows), warned, worst)
	if len(rows) == 0 {
		t.Errorf("%s: msProbe compared nothing", name)
	}
}

// inRoundOffs is the greater distance of the two norms, and of the two means by the norm over the root of the count, in
// round-offs of float32 that grow with the root of the count.
func inRoundOffs(row map[string]string) float64 {
	norm, count := math.Abs(figure(row["Bench l2norm"])), elements(row["Bench Tensor Shape"])
	if norm == 0 || count == 0 {
		return 0
	}
	unit := 0x1p-24 * norm * math.Sqrt(count)
	return max(math.Abs(figure(row["L2norm diff"]))/unit, math.Abs(figure(row["Mean diff"]))*math.Sqrt(count)/unit)
}

// elements is how many a shape as [2, 128] has.
func elements(shape string) float64 {
	count := 1.0
	for _, size := range strings.FieldsFunc(shape, func(r rune) bool { return strings.ContainsRune("[], ", r) }) {
		count *= figure(size)
	}
	return count
}

// requireSameStructure wants an export to have msProbe's ops in its order, their values and layouts, and their parents.
func requireSameStructure(t *testing.T, exported, theirs string) {
	t.Helper()
	folders, err := filepath.Glob(filepath.Join(theirs, "rank*"))
	if err != nil || len(folders) == 0 {
		t.Fatalf("msProbe's folders of ranks: %q, %v", folders, err)
	}
	for _, folder := range folders {
		want, got := readDump(t, folder), readDump(t, filepath.Join(exported, filepath.Base(folder)))
		if !slices.Equal(got.order, want.order) {
			t.Errorf("%s: the order of ops differs: %s", folder, firstOther(got.order, want.order))
		}
		for _, op := range want.order {
			if !reflect.DeepEqual(got.ops[op], want.ops[op]) {
				t.Errorf("%s: %s has\n%v, want\n%v", folder, op, got.ops[op], want.ops[op])
			}
			if got.parents[op] != want.parents[op] {
				t.Errorf("%s: %s has the parent %v, want %v", folder, op, got.parents[op], want.parents[op])
			}
		}
	}
}

func firstOther(got, want []string) string {
	for i := range min(len(got), len(want)) {
		if got[i] != want[i] {
			return fmt.Sprintf("%d. %s, want %s", i, got[i], want[i])
		}
	}
	return fmt.Sprintf("%d ops, want %d", len(got), len(want))
}

// dumpOf is what is no number in a dump.
type dumpOf struct {
	order   []string
	ops     map[string]any
	parents map[string]any
}

var opLine = regexp.MustCompile(`(?m)^  "(.*)": \{$`)

func readDump(t *testing.T, folder string) dumpOf {
	t.Helper()
	text := readJSON(t, filepath.Join(folder, "dump.json"))
	var content struct{ Data map[string]any }
	if err := json.Unmarshal(nan.ReplaceAll(text, []byte(": null")), &content); err != nil {
		t.Fatal(err)
	}
	d := dumpOf{ops: map[string]any{}}
	for _, match := range opLine.FindAllSubmatch(text, -1) {
		d.order = append(d.order, string(match[1]))
	}
	for op, values := range content.Data {
		d.ops[op] = withoutNumbers(values)
	}
	if err := json.Unmarshal(readJSON(t, filepath.Join(folder, "construct.json")), &d.parents); err != nil {
		t.Fatal(err)
	}
	return d
}

// nan is what Python writes and JSON does not know.
var nan = regexp.MustCompile(`: -?(NaN|Infinity)`)

func readJSON(t *testing.T, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// withoutNumbers also leaves out the empty objects that msProbe writes for positional dtypes, which it does not describe.
func withoutNumbers(value any) any {
	switch v := value.(type) {
	case map[string]any:
		for _, name := range []string{"Max", "Min", "Mean", "Norm"} {
			delete(v, name)
		}
		for name, part := range v {
			v[name] = withoutNumbers(part)
		}
	case []any:
		var kept []any
		for _, part := range v {
			if empty, ok := part.(map[string]any); !ok || len(empty) > 0 {
				kept = append(kept, withoutNumbers(part))
			}
		}
		return kept
	}
	return value
}

// figure is 0 where msProbe has none.
func figure(text string) float64 {
	value, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(value) {
		return 0
	}
	return value
}
