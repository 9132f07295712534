package answers

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/tensortap/tensortap/e2e/internal/program"
	"github.com/tensortap/tensortap/internal/dev/recorded"
	"github.com/tensortap/tensortap/internal/system"
)

// tensorDumps unpacks the recorded pair of dumps with raw tensors, and puts those where they lay.
func tensorDumps(tb testing.TB) (folders [2]string) {
	tb.Helper()
	folders = [2]string{recorded.Unpack(tb, "B20_tensor_problem"), recorded.Unpack(tb, "B20_tensor_golden")}
	files := tb.TempDir()
	const data = "../../internal/payload/testdata/msprobe_B20"
	if err := recorded.Extract(data+".tar.gz", files); err != nil {
		tb.Fatal(err)
	}
	text, err := os.ReadFile(data + ".tsv")
	if err != nil {
		tb.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		fields := strings.Split(line, "\t")
		for side, folder := range folders {
			if name, kept := fields[1+side], fields[3+side]; strings.HasSuffix(kept, ".pt") {
				copyFile(tb, filepath.Join(files, "B20", kept), filepath.Join(folder, "step0/rank0/dump_tensor_data", name))
			}
		}
	}
	return folders
}

func copyFile(tb testing.TB, from, to string) {
	tb.Helper()
	text, err := os.ReadFile(from)
	if err != nil {
		tb.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		tb.Fatal(err)
	}
	if err := os.WriteFile(to, text, 0o644); err != nil {
		tb.Fatal(err)
	}
}

// damage makes files of the problem that cannot be read, each in another way, and returns how many.
func damage(tb testing.TB, folder string) int {
	tb.Helper()
	data := filepath.Join(folder, "step0/rank0/dump_tensor_data")
	file := func(name string) string { return filepath.Join(data, name+".pt") }
	outside := filepath.Join(tb.TempDir(), "outside.pt")
	copyFile(tb, file("Tensor.to.19.forward.input.0"), outside)
	for _, err := range []error{
		os.Remove(file("Tensor.to.19.forward.input.0")),
		os.Remove(file("Tensor.to.19.forward.output.0")),
		os.Symlink(outside, file("Tensor.to.19.forward.output.0")),
		os.Truncate(file("Tensor.to.20.forward.input.0"), 1000),
		os.Remove(file("Tensor.to.20.forward.output.0")),
		syscall.Mkfifo(file("Tensor.to.20.forward.output.0"), 0o600),
		os.Remove(file("Functional.silu.1.forward.input.0")),
		os.Mkdir(file("Functional.silu.1.forward.input.0"), 0o700),
		os.WriteFile(file("Functional.silu.1.forward.output.0"), []byte("\x80\x02cos\nsystem\n."), 0o600),
	} {
		if err != nil {
			tb.Fatal(err)
		}
	}
	dump := filepath.Join(folder, "step0/rank0/dump.json")
	text, err := os.ReadFile(dump)
	if err != nil {
		tb.Fatal(err)
	}
	away := strings.ReplaceAll(string(text), `"Tensor.pow.7.forward.input.0.pt"`, `"../../../../`+filepath.Base(outside)+`"`)
	if away == string(text) {
		tb.Fatal("the dump names no Tensor.pow.7.forward.input.0.pt")
	}
	if err := os.WriteFile(dump, []byte(away), 0o600); err != nil {
		tb.Fatal(err)
	}
	return 7
}

func publishPair(tb testing.TB, u *program.Up, folders, runs [2]string) {
	tb.Helper()
	for i, folder := range folders {
		if out := u.Publish(tb, folder, runs[i]); out.Status != 0 {
			tb.Fatalf("publish %s: %v", folder, out)
		}
	}
	u.Settle(tb)
}

func TestPayloadsAreComparedOnce(t *testing.T) {
	t.Parallel()
	u := program.Shared(t)
	folders, runs := tensorDumps(t), [2]string{"payload-problem", "payload-bench"}
	publishPair(t, u, folders, runs)
	client := u.Client(t)
	defer client.Close()
	var told atomic.Int64
	request := system.PayloadRequest{
		Problem: runs[0], Bench: runs[1], Folders: folders, Rank: -1,
		Progress: func(done, _ int64) { told.Store(max(told.Load(), done)) },
	}
	const kept = 48
	for range 2 { // the second time changes nothing
		result, err := client.ComparePayloads(t.Context(), request)
		if err != nil || result.Pairs != kept || result.Unreadable != 0 || result.Unlike != 0 {
			t.Fatalf("ComparePayloads = %+v, %v, want %d pairs", result, err, kept)
		}
	}
	if told.Load() != kept {
		t.Errorf("progress was told %d pairs, want %d", told.Load(), kept)
	}
	from := "FROM tap.payload_errors WHERE problem_run_id = xxh3(concat('payload-problem', char(31)))"
	rows := u.Query(t, "SELECT count(), countIf(message = ''), sum(same_bits) "+from)
	if got := strings.Join(rows[0], " "); got != "48 48 2" {
		t.Errorf("stored rows, without message, with the same bits: %s, want 48 48 2", got)
	}
	rows = u.Query(t, "SELECT round(l2_distance, 12), round(cosine, 12) "+from+
		" AND problem_site_id IN (SELECT site_id FROM tap.sites AS s INNER JOIN tap.ops AS o USING (op_id) "+
		"WHERE o.name = 'Module.model.layers.1.mlp.Qwen3MLP.forward.0' AND s.role = 'output')")
	if got := strings.Join(rows[0], " "); got != "0.377178705508 -0.046407106077" {
		t.Errorf("distance and cosine of the output of a module: %s, msProbe says 0.377178705508 -0.046407106077", got)
	}
	rows = u.Query(t, "SELECT count() "+strings.Replace(from, "tap.payload_errors", "tap_store.payload_error", 1))
	if rows[0][0] != "48" {
		t.Errorf("%s rows in the table after two comparisons, want 48", rows[0][0])
	}
}

func TestUnreadablePayloadsAreRows(t *testing.T) {
	t.Parallel()
	u := program.Shared(t)
	folders, runs := tensorDumps(t), [2]string{"payload-damaged", "payload-whole"}
	damaged := damage(t, folders[0])
	publishPair(t, u, folders, runs)
	client := u.Client(t)
	defer client.Close()
	result, err := client.ComparePayloads(t.Context(), system.PayloadRequest{
		Problem: runs[0], Bench: runs[1], Folders: folders, Rank: -1,
	})
	if err != nil || result.Pairs != 48 || result.Unreadable != damaged || len(result.Problems) != damaged {
		t.Fatalf("ComparePayloads = %+v, %v, want %d of 48 unreadable", result, err, damaged)
	}
	problems := strings.Join(result.Problems, "\n")
	for _, want := range []string{
		"no such file", "leads out of the folder", "path escapes from parent", "the file was cut short",
		"it is p", "it is d", `it asks for "system" of "os"`,
	} {
		if !strings.Contains(problems, want) {
			t.Errorf("no problem says %q:\n%s", want, problems)
		}
	}
	rows := u.Query(t, "SELECT countIf(startsWith(message, 'unreadable: problem: ') AND relative_l2 IS NULL), count() FROM tap.payload_errors "+
		"WHERE problem_run_id = xxh3(concat('payload-damaged', char(31)))")
	if got := strings.Join(rows[0], " "); got != "7 48" {
		t.Errorf("unreadable and all rows: %s, want 7 48", got)
	}
}

func TestRawTensorsThatCannotBeReadAreNotTheSame(t *testing.T) {
	t.Parallel()
	folder := tensorDumps(t)[1]
	copied := filepath.Join(t.TempDir(), "copied")
	if err := os.CopyFS(copied, os.DirFS(folder)); err != nil {
		t.Fatal(err)
	}
	compare := func() program.Outcome {
		return program.Run(t, program.Setting{}, "compare", copied, folder, "--payload")
	}
	if out := compare(); out.Status != program.ExitSame || !strings.Contains(out.Stdout, "48 pairs of raw tensors were compared") {
		t.Fatalf("compare of equal dumps: %v", out)
	}
	const lost = "Tensor.to.19.forward.input.0.pt"
	if err := os.Remove(filepath.Join(copied, "step0/rank0/dump_tensor_data", lost)); err != nil {
		t.Fatal(err)
	}
	out := compare()
	if out.Status != program.ExitError || !strings.Contains(out.Stderr, lost+": no such file") {
		t.Errorf("compare without one file: %v, want status %d, and its name", out, program.ExitError)
	}
	for _, want := range []string{"UNKNOWN", "47 pairs of raw tensors were compared", "1 pair of raw tensors could not be read\n"} {
		if !strings.Contains(out.Stdout, want) {
			t.Errorf("compare without one file lacks %q:\n%s", want, out.Stdout)
		}
	}
}

// The file is there, then gone, then there again.
func TestAnErrorOfRawTensorsThatComesBackIsTheLatest(t *testing.T) {
	t.Parallel()
	u := program.Shared(t)
	folders, runs := tensorDumps(t), [2]string{"payload-again-problem", "payload-again-bench"}
	publishPair(t, u, folders, runs)
	client := u.Client(t)
	defer client.Close()
	file := filepath.Join(folders[0], "step0/rank0/dump_tensor_data/Tensor.to.19.forward.input.0.pt")
	for i, unreadable := range []int{0, 1, 0, 1, 0} {
		from, to := file, file+".away"
		if unreadable == 0 {
			from, to = to, from
		}
		if i > 0 {
			if err := os.Rename(from, to); err != nil {
				t.Fatal(err)
			}
		}
		result, err := client.ComparePayloads(t.Context(), system.PayloadRequest{Problem: runs[0], Bench: runs[1], Folders: folders, Rank: -1})
		if err != nil || result.Pairs != 48 || result.Unreadable != unreadable {
			t.Fatalf("ComparePayloads = %+v, %v, want %d of 48 unreadable", result, err, unreadable)
		}
		rows := u.Query(t, "SELECT countIf(message != ''), count() FROM tap.payload_errors WHERE problem_run_id = xxh3(concat('"+runs[0]+"', char(31)))")
		if want := strconv.Itoa(unreadable) + " 48"; strings.Join(rows[0], " ") != want {
			t.Errorf("time %d: rows with a message, and all: %s, want %s", i, strings.Join(rows[0], " "), want)
		}
	}
	rows := u.Query(t, "SELECT count() <= 48 + 4 FROM tap_store.payload_error WHERE problem_run_id = xxh3(concat('"+runs[0]+"', char(31)))")
	if rows[0][0] != "true" && rows[0][0] != "1" {
		t.Errorf("more rows were stored than the 48 and the 4 that changed: %v", rows)
	}
}

func TestPayloadsNeedTheirFolders(t *testing.T) {
	t.Parallel()
	u := program.Shared(t)
	client := u.Client(t)
	defer client.Close()
	request := system.PayloadRequest{Problem: "payload-none", Bench: "payload-none-too", Folders: [2]string{"no-such-folder", "."}, Rank: -1}
	if result, err := client.ComparePayloads(t.Context(), request); err == nil || !strings.Contains(err.Error(), "no-such-folder") {
		t.Errorf("ComparePayloads of a folder that is not there = %+v, %v", result, err)
	}
	folders := tensorDumps(t)
	request.Folders = folders
	if result, err := client.ComparePayloads(t.Context(), request); err != nil || result.Pairs != 0 {
		t.Errorf("ComparePayloads of runs that are not stored = %+v, %v, want nothing", result, err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if result, err := client.ComparePayloads(ended, request); err == nil {
		t.Errorf("ComparePayloads after its end = %+v, want an error", result)
	}
}
