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
	out := program.Run(t, program.Setting{}, "compare", problem, bench, "--output", "msprobe-csv", "--output-dir", dir)
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
	out := program.Run(t, program.Setting{}, "compare", problem, bench, "--output", "msprobe-csv")
	if out.Status != 2 || !strings.Contains(out.Stderr, "--output-dir") {
		t.Errorf("compare two ranks: %v, want status 2 and a word on --output-dir", out)
	}
	out = program.Run(t, program.Setting{}, "compare", problem, bench, "--output", "msprobe-csv", "--rank", "1")
	if out.Status != 1 || out.Stdout != msprobesOwn(t, "D_tp_rank1_weight_rank1") {
		t.Errorf("compare rank 1: status %d, %d bytes, %q, want status 1 and what msProbe wrote", out.Status, len(out.Stdout), out.Stderr)
	}
}
