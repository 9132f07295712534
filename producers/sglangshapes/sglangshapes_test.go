package sglangshapes_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tensortap/tensortap/internal/dev/testbed"
	"github.com/tensortap/tensortap/producers"
	"github.com/tensortap/tensortap/producers/sglangshapes"
	"github.com/tensortap/tensortap/schemas"
)

// told is what a log becomes, in words.
type told struct {
	steps    []schemas.StepRow
	calls    map[string]uint64 // by "step op (inputs) -> outputs"
	failures []schemas.FailureRow
	ops      map[uint64]string
	problems producers.Problems
}

func find(tb testing.TB, path string) producers.Found {
	tb.Helper()
	found, err := sglangshapes.Tool().Find(path)
	if err != nil {
		tb.Fatal(err)
	}
	return found
}

func read(tb testing.TB, path string) told {
	tb.Helper()
	all := told{calls: map[string]uint64{}, ops: map[uint64]string{}}
	for _, dump := range find(tb, path).Dumps {
		source, err := dump.Open("a run", nil)
		if err != nil {
			tb.Fatal(err)
		}
		all.add(tb, source)
	}
	return all
}

func (a *told) add(tb testing.TB, source producers.Source) {
	tb.Helper()
	read := testbed.ReadTallied(tb, source)
	a.steps, a.failures = append(a.steps, read.Step), append(a.failures, read.Failures...)
	maps.Copy(a.ops, read.Ops)
	for call, count := range read.Calls {
		a.calls[fmt.Sprintf("%d %s", read.Step.Step, call)] += count
	}
	a.problems.Count += source.Problems().Count
	a.problems.First = append(a.problems.First, source.Problems().First...)
}

// write makes a log of lines, and what stands beside it.
func write(tb testing.TB, name, content string) string {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		tb.Fatal(err)
	}
	return path
}

func fixture(tb testing.TB, name string) string {
	tb.Helper()
	content, err := os.ReadFile(filepath.Join("testdata", name)) //nolint:gosec // of the test
	if err != nil {
		tb.Fatal(err)
	}
	return string(content)
}

func requireCalls(tb testing.TB, got told, want ...string) {
	tb.Helper()
	var lines []string
	for call, count := range got.calls {
		lines = append(lines, fmt.Sprintf("%d x %s", count, call))
	}
	slices.Sort(lines)
	slices.Sort(want)
	if !slices.Equal(lines, want) {
		tb.Errorf("calls:\n%s\nwant:\n%s", strings.Join(lines, "\n"), strings.Join(want, "\n"))
	}
}

func TestALogOfTheDocumentedDialectBecomesCallsAndItsFailure(t *testing.T) {
	t.Parallel()
	got := read(t, write(t, "shapes.jsonl", fixture(t, "sglang_shapes.jsonl")))
	requireCalls(t, got,
		"1 x 3 aten.mm.default (self: float16[128, 256], mat2: float16[256, 512]) -> float16[128, 512]",
		"1 x 3 aten.cat.default (tensors.0: bfloat16[1, 4096], tensors.1: bfloat16[7, 4096]) -> bfloat16[8, 4096]",
		"1 x 3 aten.mm.default (self: float16[0, 256], mat2: float16[256, 512]) -> raised RuntimeError",
	)
	if got.problems.Count != 0 || len(got.failures) != 1 {
		t.Fatalf("%+v, %+v", got.problems, got.failures)
	}
	f := got.failures[0]
	if f.Step != 3 || f.Seq != 42 || got.ops[f.OpID] != "Aten.mm.default" || f.Type != "RuntimeError" ||
		f.Message != "CUDA error: invalid configuration argument" || f.Inputs != "self: float16[0, 256]\nmat2: float16[256, 512]" {
		t.Errorf("%+v of %s", f, got.ops[f.OpID])
	}
}

func TestInTheOlderDialectBareShapesAreTensors(t *testing.T) {
	t.Parallel()
	got := read(t, write(t, "old.jsonl", fixture(t, "sglang_shapes_old.jsonl")))
	requireCalls(t, got,
		"1 x 1 aten.mm.default (self: [128, 256], mat2: [256, 512]) -> [128, 512]",
		"1 x 1 aten.cat.default (tensors.0: [1, 4096], tensors.1: [7, 4096]) -> [8, 4096]",
		"1 x 1 sgl_kernel.rmsnorm.default (arg0: [8, 4096], arg1: [4096]) -> ",
	)
}

func TestTheSummaryGivesTheRankAndSaysWhatIsMissing(t *testing.T) {
	t.Parallel()
	path := write(t, "shapes.jsonl", fixture(t, "sglang_shapes.jsonl"))
	summary := `{"rank": 3, "total_operations": 5, "dedupe_enabled": false, "dedupe_skipped_count": 0}`
	if err := os.WriteFile(strings.TrimSuffix(path, ".jsonl")+"_summary.json", []byte(summary), 0o600); err != nil {
		t.Fatal(err)
	}
	found, got := find(t, path), read(t, path)
	if found.Dumps[0].Rank != 3 || got.steps[0].DroppedCount != 2 || got.steps[0].OpCount != 3 ||
		got.problems.Count != 1 || !strings.Contains(got.problems.First[0], "its summary counts 5 ops, it has 3: 2 are missing") {
		t.Errorf("%+v, %+v, %+v", found.Dumps[0], got.steps, got.problems)
	}
}

func TestALogWithoutRepetitionsIsOneStepAndSaysSo(t *testing.T) {
	t.Parallel()
	path := write(t, "shapes.jsonl", passes(3, 1))
	summary := `{"rank": 0, "total_operations": 9, "dedupe_enabled": true, "dedupe_skipped_count": 6}`
	if err := os.WriteFile(strings.TrimSuffix(path, ".jsonl")+"_summary.json", []byte(summary), 0o600); err != nil {
		t.Fatal(err)
	}
	got := read(t, path)
	row := find(t, path)
	if len(got.steps) != 1 || got.steps[0].OpCount != 3 || got.problems.Count != 0 || row.Describe("r", nil).Labels["deduped"] != "true" {
		t.Errorf("%+v, %+v, %v", got.steps, got.problems, row.Describe("r", nil).Labels)
	}
}

// The process was killed before it wrote a summary.
func TestALogWhoseLinesSayThatRepetitionsAreLeftOutIsOneStep(t *testing.T) {
	t.Parallel()
	log := func(left int, sizes func(i int) int) string {
		var b strings.Builder
		for i := range 20 {
			call := i + 1
			if i >= 15 {
				call += left
			}
			fmt.Fprintf(&b, `{"call_id": %d, "forward_pass": %d, "operation": "aten.relu.default", "inputs": {"self": {"shape": [%d], "dtype": "torch.float32"}}, "outputs": null}`+"\n", call, 1+i/10, sizes(i))
		}
		return b.String()
	}
	own, shared := func(i int) int { return i }, func(i int) int { return i / 2 }
	for name, test := range map[string]struct {
		log   string
		steps int
	}{
		"deduped":              {log(200, own), 1},
		"no call is left out":  {log(0, own), 2},
		"lines repeat":         {log(200, shared), 2},
		"too few to tell":      {strings.Join(strings.SplitAfter(log(200, own), "\n")[9:], ""), 2},
		"the last line is cut": {strings.TrimSuffix(log(200, own), "}\n"), 1},
	} {
		path := write(t, "shapes.jsonl", test.log)
		found := find(t, path)
		if got := read(t, path); len(got.steps) != test.steps {
			t.Errorf("%s: %d steps, want %d", name, len(got.steps), test.steps)
		}
		if label := found.Describe("r", nil).Labels["deduped"]; (label == "true") != (test.steps == 1) {
			t.Errorf("%s: labelled %q", name, label)
		}
	}
}

// passes is a log of forward passes that repeat one op.
func passes(count, ops int) string {
	var b strings.Builder
	for i := range count * ops {
		fmt.Fprintf(&b, `{"call_id": %d, "forward_pass": %d, "operation": "aten.relu.default", "inputs": {"self": {"shape": [2], "dtype": "torch.float32"}}, "outputs": {"shape": [2], "dtype": "torch.float32"}}`+"\n", i+1, i/ops+1)
	}
	return b.String()
}

// Steps of the same content are different facts.
func TestForwardPassesAreSteps(t *testing.T) {
	t.Parallel()
	path := write(t, "shapes.jsonl", passes(10, 7))
	got := read(t, path)
	epochs := map[uint64]bool{}
	for i, s := range got.steps {
		epochs[s.Epoch] = true
		if s.Step != uint32(i+1) || s.OpCount != 7 || s.DroppedCount != 0 { //nolint:gosec // small
			t.Errorf("step %d: %+v", i, s)
		}
	}
	if len(got.steps) != 10 || len(epochs) != 10 {
		t.Errorf("%d steps, %d epochs", len(got.steps), len(epochs))
	}
}

func TestAnyOrderOfKeysAndSpacesIsRead(t *testing.T) {
	t.Parallel()
	line := `{ "operation":"aten.relu.default","forward_pass":2,"outputs":null, "call_id":1,"inputs":{"self":{"dtype":"torch.float8_e4m3fn","shape":[]},"n":[1,2],"shape":[4]}}`
	compact := `{"call_id":2,"forward_pass":2,"operation":"aten.relu.default","inputs":{"self":{"shape":[3],"dtype":"torch.float32"}},"outputs":[{"shape":[3],"dtype":"torch.float32"},{"shape":[1],"dtype":"torch.int64"}]}`
	got := read(t, write(t, "x.jsonl", line+"\r\n\n"+compact)) // no end of the last line
	requireCalls(t, got,
		"1 x 2 aten.relu.default (self: float8_e4m3fn[], n: [1, 2], shape: [4]) -> ",
		"1 x 2 aten.relu.default (self: float32[3]) -> float32[3], int64[1]",
	)
}

func TestDamagedLinesAreCountedAndQuotedAndTheOthersCount(t *testing.T) {
	t.Parallel()
	lines := strings.SplitAfter(passes(2, 3), "\n")
	lines[1] = "Traceback (most recent call last):\n"
	lines[4] = strings.Replace(lines[4], `"shape": [2]`, `"shape": "two"`, 1)
	lines[5] = lines[5][:100]
	got := read(t, write(t, "x.jsonl", strings.Join(lines, "")))
	if len(got.steps) != 2 || got.steps[0].OpCount != 2 || got.steps[0].DroppedCount != 1 || got.steps[1].OpCount != 1 || got.steps[1].DroppedCount != 2 {
		t.Errorf("%+v", got.steps)
	}
	said := strings.Join(got.problems.First, "\n")
	for _, want := range []string{`is damaged, "Traceback (most recent`, `shape of "self"`, `is cut off, "{\"call_id\": 6`} {
		if !strings.Contains(said, want) {
			t.Errorf("%s: not in\n%s", want, said)
		}
	}
}

func TestALineThatIsTooLongIsPassedOver(t *testing.T) {
	t.Parallel()
	long := `{"call_id": 1, "forward_pass": 1, "operation": "` + strings.Repeat("x", 9<<20) + "\"}\n"
	got := read(t, write(t, "x.jsonl", passes(1, 2)+long+passes(1, 3)))
	if len(got.steps) != 1 || got.steps[0].OpCount != 5 || got.steps[0].DroppedCount != 1 {
		t.Errorf("%+v %v", got.steps, got.problems)
	}
}

// Every prefix of a log, and every log with a byte changed, gives its good lines, and counts the others.
func TestLogsCutAnywhereAndChangedAnywhereLoseNothingElse(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // the same each time
	for _, name := range []string{"sglang_shapes.jsonl", "sglang_shapes_old.jsonl"} {
		whole := fixture(t, name)
		path := write(t, "x.jsonl", whole)
		for cut := 0; cut < len(whole); cut += 7 {
			requireAllCounted(t, path, whole[:cut])
			changed := []byte(whole)
			changed[cut] = byte(random.IntN(256))
			requireAllCounted(t, path, string(changed))
		}
	}
}

func requireAllCounted(tb testing.TB, path, content string) {
	tb.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		tb.Fatal(err)
	}
	found, err := sglangshapes.Tool().Find(path)
	if err != nil {
		return // no good line
	}
	var counted uint64
	for _, dump := range found.Dumps {
		source, err := dump.Open("r", nil)
		if err != nil {
			tb.Fatal(err)
		}
		one := told{calls: map[string]uint64{}, ops: map[uint64]string{}}
		one.add(tb, source)
		for _, s := range one.steps {
			counted += s.OpCount + s.DroppedCount
		}
	}
	lines := 0
	for line := range strings.SplitSeq(content, "\n") {
		if strings.TrimSpace(line) != "" {
			lines++
		}
	}
	if counted != uint64(lines) { //nolint:gosec // never negative
		tb.Errorf("%d ops and losses of %d lines in %q", counted, lines, content)
	}
}

func TestRanksComeFromNamesAndMayNotMeet(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"shapes_rank1.jsonl", "shapes_rank0.jsonl", "other.txt", "notes.jsonl"} {
		content := passes(2, 1)
		if name == "notes.jsonl" {
			content = "{}\n"
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var at []string
	found := find(t, dir)
	for _, d := range found.Dumps {
		at = append(at, fmt.Sprintf("%d/%d", d.Step, d.Rank))
	}
	if strings.Join(at, " ") != "1/0 1/1 2/0 2/1" || found.RanksGuessed {
		t.Errorf("%v, guessed %t", at, found.RanksGuessed)
	}
	if err := os.WriteFile(filepath.Join(dir, "again_rank1.jsonl"), []byte(passes(1, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := sglangshapes.Tool().Find(dir); err == nil || !strings.Contains(err.Error(), "are both of rank 1") {
		t.Errorf("two logs of a rank: %v", err)
	}
}

func TestWhatIsNoLogIsSaidToBeNone(t *testing.T) {
	t.Parallel()
	for _, path := range []string{t.TempDir(), write(t, "x.jsonl", "{}\n"), filepath.Join(t.TempDir(), "none")} {
		if _, err := sglangshapes.Tool().Find(path); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", path, err)
		}
	}
}

func TestTheSameRowsComeDirectlyAndAsMessages(t *testing.T) {
	t.Parallel()
	path := write(t, "shapes.jsonl", fixture(t, "sglang_shapes.jsonl"))
	found := find(t, path)
	var calls, failures uint64
	reader := found.Reader("r", producers.Rows{
		Call:    func(row *schemas.CallRow) { calls += row.CallCount },
		Failure: func(*schemas.FailureRow) { failures++ },
	})
	if _, err := reader(context.Background(), 0, nil); err != nil || calls != 3 || failures != 1 {
		t.Errorf("%d calls, %d failures, %v", calls, failures, err)
	}
}

func TestALogThatGrowsWhileItIsReadIsRefused(t *testing.T) {
	t.Parallel()
	path := write(t, "shapes.jsonl", passes(1, 3))
	found := find(t, path)
	if err := os.Truncate(path, 10); err != nil {
		t.Fatal(err)
	}
	if _, err := found.Dumps[0].Open("r", nil); err == nil || !strings.Contains(err.Error(), "it is being written") {
		t.Errorf("%v", err)
	}
}

func BenchmarkShapes(b *testing.B) {
	path := write(b, "shapes.jsonl", strings.Repeat(passes(1, 100), 1000))
	info, err := os.Stat(path)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(info.Size())
	for b.Loop() {
		read(b, path)
	}
}
