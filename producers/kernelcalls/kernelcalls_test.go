package kernelcalls_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tensortap/tensortap/internal/dev/testbed"
	"github.com/tensortap/tensortap/producers"
	"github.com/tensortap/tensortap/producers/kernelcalls"
	"github.com/tensortap/tensortap/schemas"
)

// told is what a log becomes.
type told struct {
	calls    []string // "count x function (inputs) -> outputs"
	failures []schemas.FailureRow
	ops      map[uint64]string
	ranks    []schemas.RankRow
	step     schemas.StepRow
	problems producers.Problems
}

func read(tb testing.TB, path string) (all []told) {
	tb.Helper()
	found, err := kernelcalls.Tool().Find(path)
	if err != nil {
		tb.Fatal(err)
	}
	for _, dump := range found.Dumps {
		source, err := dump.Open("a run", nil)
		if err != nil {
			tb.Fatal(err)
		}
		all = append(all, rowsOf(tb, source))
	}
	return all
}

func rowsOf(tb testing.TB, source producers.Source) (a told) {
	tb.Helper()
	read := testbed.ReadTallied(tb, source)
	a.ops, a.failures, a.ranks, a.step = read.Ops, read.Failures, read.Ranks, read.Step
	for call, count := range read.Calls {
		a.calls = append(a.calls, fmt.Sprintf("%d x %s", count, call))
	}
	slices.Sort(a.calls)
	a.problems = source.Problems()
	return a
}

const rmsnorm = "norm.rmsnorm (arg_0: bfloat16[8, 128] strides [128, 1] cuda:0, arg_1) -> "

func TestACallThatNeverEndedIsWhereTheProcessDied(t *testing.T) {
	t.Parallel()
	all := read(t, "testdata/session.jsonl")
	got := all[0]
	if len(all) != 1 || !slices.Equal(got.calls, []string{"1 x " + rmsnorm + "never ended", "1 x " + rmsnorm + "result"}) || got.problems.Count != 0 {
		t.Fatalf("%+v", all)
	}
	if *got.ranks[0].PID != 4211 || got.ranks[0].SourceName != "proc4211" || len(got.failures) != 1 {
		t.Fatalf("%+v %+v", got.ranks, got.failures)
	}
	f := got.failures[0]
	if f.Seq != 2 || f.Type != "never ended" || got.ops[f.OpID] != "Kernel.norm.rmsnorm" ||
		!strings.Contains(f.Message, "began at 2026-01-08 12:00:00 by its host's clock") || !strings.Contains(f.Message, "_call0002") && !strings.Contains(f.Message, "_call0001") {
		t.Errorf("%+v of %s", f, got.ops[f.OpID])
	}
}

func TestACallOfSGLangThatRaisedIsAFailure(t *testing.T) {
	t.Parallel()
	got := read(t, "testdata/sglang_kernel_api")[0]
	if !slices.Equal(got.calls, []string{"1 x x.rmsnorm (arg_0) -> raised RuntimeError"}) || len(got.failures) != 1 {
		t.Fatalf("%+v", got)
	}
	if f := got.failures[0]; f.Type != "RuntimeError" || f.Message != "CUDA error: an illegal memory access was encountered" || f.Inputs != "arg_0" {
		t.Errorf("%+v", f)
	}
}

func TestSavedTensorsSayWhatACallOfSGLangWasGiven(t *testing.T) {
	t.Parallel()
	got := read(t, "testdata/sglang_saved")[0]
	const inputs = "arg_0: bfloat16[16, 8] strides [1, 16]\nkwarg_w: float32[16] strides [1]"
	if len(got.failures) != 1 || got.failures[0].Type != "never ended" || got.failures[0].Inputs != inputs {
		t.Errorf("%+v", got.failures)
	}
}

// Calls of the same metadata are others if they were given other tensors.
func TestWhatACallWasGivenIsPartOfItsIdentity(t *testing.T) {
	t.Parallel()
	const call = "20260319_101112_002_pid9_x.rmsnorm_call0002/"
	files := map[string]string{}
	for _, name := range []string{"metadata.json", "inputs.pt"} {
		content, err := os.ReadFile("testdata/sglang_saved/" + call + name)
		if err != nil {
			t.Fatal(err)
		}
		files[call+name] = string(content)
	}
	with := digest(t, write(t, files))
	if again := digest(t, write(t, files)); again != with {
		t.Errorf("the same call has digests %x and %x", with, again)
	}
	delete(files, call+"inputs.pt")
	if without := digest(t, write(t, files)); without == with {
		t.Errorf("a call of no known inputs has the digest of another: %x", with)
	}
}

func digest(tb testing.TB, dir string) uint64 {
	tb.Helper()
	found, err := kernelcalls.Tool().Find(dir)
	if err != nil {
		tb.Fatal(err)
	}
	source, err := found.Dumps[0].Open("r", nil)
	if err != nil {
		tb.Fatal(err)
	}
	return source.Digest
}

// write makes a folder of files.
func write(tb testing.TB, files map[string]string) string {
	tb.Helper()
	dir := tb.TempDir()
	for name, content := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			tb.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			tb.Fatal(err)
		}
	}
	return dir
}

func entry(pid, sequence int, status string) string {
	return fmt.Sprintf(`{"function_name": "f", "call_sequence": %d, "process_id": %d, "timestamp": "20260108_120000_000", "execution_status": %q, "input_tensor_keys": ["arg_0"]}`, sequence, pid, status)
}

func TestCallsInFoldersAreReadInTheirOrderAndByProcess(t *testing.T) {
	t.Parallel()
	dir := write(t, map[string]string{
		"20260101_000000_002_pid9_f_call0001/metadata.jsonl":  entry(9, 1, "inputs_saved") + "\n" + entry(9, 1, "completed"),
		"20260101_000000_003_pid9_f_call0002/metadata.json":   entry(9, 2, "inputs_saved"),
		"20260101_000000_003_pid9_f_call10/metadata.json":     entry(9, 10, "inputs_saved"),
		"20260101_000000_001_pid12_f_call0001/metadata.jsonl": entry(12, 1, "inputs_saved") + "\n" + entry(12, 1, "completed"),
		"20260101_000000_004_pid12_f_call0002/inputs.pt":      "",
		"other/metadata.json":                                 entry(1, 1, "completed"),
	})
	all := read(t, dir)
	if len(all) != 2 || *all[0].ranks[0].PID != 9 || *all[1].ranks[0].PID != 12 {
		t.Fatalf("%+v", all)
	}
	if f := all[0].failures; len(f) != 2 || f[0].Seq != 2 || f[1].Seq != 3 || all[0].step.OpCount != 3 || all[1].step.OpCount != 1 {
		t.Errorf("%+v, %+v", f, all)
	}
	if p := all[0].problems; p.Count != 1 || !strings.Contains(p.First[0], "it has no metadata of its call") {
		t.Errorf("%+v", p)
	}
}

func TestLogsOfCallsCutAnywhereAndChangedAnywhereLoseNothingElse(t *testing.T) {
	t.Parallel()
	whole, err := os.ReadFile("testdata/session.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // the same each time
	path := filepath.Join(write(t, nil), "session.jsonl")
	for cut := 0; cut < len(whole); cut += 17 {
		changed := slices.Clone(whole)
		changed[cut] = byte(random.IntN(256))
		for _, content := range [][]byte{whole[:cut], changed} {
			requireAllCounted(t, path, content)
		}
	}
}

// requireAllCounted fails the test unless each line is a call's begin or end, or counted as lost: one call may have two lines.
func requireAllCounted(tb testing.TB, path string, content []byte) {
	tb.Helper()
	if err := os.WriteFile(path, content, 0o600); err != nil {
		tb.Fatal(err)
	}
	found, err := kernelcalls.Tool().Find(path)
	if err != nil {
		return // no good line
	}
	var calls, lost uint64
	for _, dump := range found.Dumps {
		source, err := dump.Open("r", nil)
		if err != nil {
			tb.Fatal(err)
		}
		got := rowsOf(tb, source)
		calls, lost = calls+got.step.OpCount, lost+got.step.DroppedCount
	}
	var lines uint64
	for line := range strings.SplitSeq(string(content), "\n") {
		if strings.TrimSpace(line) != "" {
			lines++
		}
	}
	if calls == 0 || calls+lost > lines || calls+lost+1 < lines {
		tb.Errorf("%d calls and %d losses of %d lines in %q", calls, lost, lines, content)
	}
}

func TestALineThatIsTooLongIsPassedOver(t *testing.T) {
	t.Parallel()
	content, err := os.ReadFile("testdata/session.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	long := `{"function_name": "` + strings.Repeat("x", 9<<20) + "\"}\n"
	got := read(t, write(t, map[string]string{"session.jsonl": long + string(content)}))[0]
	if got.step.OpCount != 2 || got.step.DroppedCount != 1 || len(got.problems.First) != 1 || !strings.Contains(got.problems.First[0], "longer than 8388608 bytes") {
		t.Errorf("%+v, %.300q", got.step, got.problems.First)
	}
}

func TestWhatIsNoLogOfCallsIsSaidToBeNone(t *testing.T) {
	t.Parallel()
	for _, path := range []string{write(t, nil), write(t, map[string]string{"session.jsonl": "{}\n"}), filepath.Join(t.TempDir(), "none")} {
		if _, err := kernelcalls.Tool().Find(path); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", path, err)
		}
	}
}
