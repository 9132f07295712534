package answers

import (
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tensortap/tensortap/e2e/internal/program"
	"github.com/tensortap/tensortap/internal/dev/recorded"
)

// msprobesOwn is a file that msProbe wrote about recorded dumps.
func msprobesOwn(tb testing.TB, name string) string {
	tb.Helper()
	packed, err := os.ReadFile(filepath.Join("../../analysis/msprobe/msprobecsv/testdata/csv", name+".csv.gz"))
	if err != nil {
		tb.Fatal(err)
	}
	plain, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		tb.Fatal(err)
	}
	text, err := io.ReadAll(plain)
	if err != nil {
		tb.Fatal(err)
	}
	return string(text)
}

func TestCompareWritesTheFilesOfMsprobe(t *testing.T) {
	t.Parallel()
	problem, bench := recorded.Unpack(t, "D_tp_rank1_weight"), recorded.Unpack(t, "D_tp_golden")
	dir := filepath.Join(t.TempDir(), "results")
	out := program.Run(t, nothingStarts(t), "compare", problem, bench, "--output", "msprobe-csv", "--output-dir", dir)
	if out.Status != 1 || out.Stdout != "" {
		t.Fatalf("compare --output msprobe-csv --output-dir: %v, want status 1 and nothing on standard output", out)
	}
	for _, rank := range []string{"rank0", "rank1"} {
		got, err := os.ReadFile(filepath.Join(dir, "compare_result_"+rank+"_step0.csv"))
		if err != nil || string(got) != msprobesOwn(t, "D_tp_rank1_weight_"+rank) {
			t.Errorf("file of %s: %d bytes, %v, want what msProbe wrote", rank, len(got), err)
		}
	}
}

func TestCompareWritesTheOnlyFileOfMsprobeToStandardOutput(t *testing.T) {
	t.Parallel()
	problem, bench := recorded.Unpack(t, "D_tp_rank1_weight"), recorded.Unpack(t, "D_tp_golden")
	out := program.Run(t, nothingStarts(t), "compare", problem, bench, "--output", "msprobe-csv")
	if out.Status != 2 || !strings.Contains(out.Stderr, "--output-dir") {
		t.Errorf("compare two ranks: %v, want status 2 and a word on --output-dir", out)
	}
	out = program.Run(t, nothingStarts(t), "compare", problem, bench, "--output", "msprobe-csv", "--rank", "1")
	if out.Status != 1 || out.Stdout != msprobesOwn(t, "D_tp_rank1_weight_rank1") {
		t.Errorf("compare rank 1: status %d, %d bytes, %q, want status 1 and what msProbe wrote", out.Status, len(out.Stdout), out.Stderr)
	}
}

func TestMsprobesAnswersAboutStoredRunsAreThoseAboutTheirFolders(t *testing.T) {
	t.Parallel()
	u := program.PublishOnce(t, "D_tp_rank1_weight", "D_tp_golden")
	want := msprobesOwn(t, "D_tp_rank1_weight_rank1")
	out := program.Run(t, u.Setting, "compare", "D_tp_rank1_weight", "D_tp_golden", "--output", "msprobe-csv", "--rank", "1")
	if out.Status != 1 || out.Stdout != want {
		t.Errorf("compare rank 1 of stored runs: status %d, %d bytes, %q, want status 1 and what msProbe wrote", out.Status, len(out.Stdout), out.Stderr)
	}
	report := []string{"report", "msprobe", "--problem", "D_tp_rank1_weight", "--bench", "D_tp_golden", "--rank", "1", "--output", "csv"}
	out = program.Run(t, u.Setting, report...)
	if out.Status != 0 || strings.Count(out.Stdout, "\n") != strings.Count(want, "\n") || !strings.Contains(out.Stdout, "The norm relative error of output is 10 times") {
		t.Errorf("report msprobe: status %d, %d lines, %q, want a row for each of msProbe's", out.Status, strings.Count(out.Stdout, "\n"), out.Stderr)
	}
	if out = program.Run(t, u.Setting, append(report, "--limit", "3", "--columns", "rank,name,msprobe_result")...); out.Status != 0 || strings.Count(out.Stdout, "\n") != 4 {
		t.Errorf("report msprobe --limit 3: %v, want 3 rows", out)
	}
}

func TestMsprobesResultOfOneOpIsReported(t *testing.T) {
	t.Parallel()
	u := program.PublishOnce(t, "D_tp_rank1_weight", "D_tp_golden")
	out := program.Run(t, u.Setting, "report", "op-msprobe", "--problem", "D_tp_rank1_weight", "--bench", "D_tp_golden",
		"--rank", "1", "--op", warned(t), "--output", "csv")
	if out.Status != 0 || !strings.HasPrefix(out.Stdout, "role,path,msprobe_result,msprobe_message\ninput,0,pass,\n") || !strings.Contains(out.Stdout, "output,0,warning,") {
		t.Errorf("report op-msprobe: %v, want a row for each argument, and a warning of the output", out)
	}
}

// warned is the op of rank 1 whose output msProbe warns of.
func warned(tb testing.TB) string {
	tb.Helper()
	for line := range strings.Lines(msprobesOwn(tb, "D_tp_rank1_weight_rank1")) {
		if op, _, found := strings.Cut(line, ".output."); found && strings.Contains(line, ",warning,") {
			return op
		}
	}
	tb.Fatal("msProbe warns of nothing")
	return ""
}
