package testbed

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Msprobe is the executable of the msProbe that TENSORTAP_MSPROBE names. The test is skipped where it names none: msProbe
// brings 3 GB.
func Msprobe(tb testing.TB) string {
	tb.Helper()
	executable := os.Getenv("TENSORTAP_MSPROBE")
	if executable == "" {
		tb.Skip("SKIPPED: TENSORTAP_MSPROBE does not name msProbe's executable; make msprobe installs one")
	}
	return executable
}

// MsprobeCompares returns the files, one a rank, that msProbe writes when it compares two folders of one step.
func MsprobeCompares(tb testing.TB, executable, problem, bench string) []string {
	tb.Helper()
	out := tb.TempDir()
	cmd := exec.CommandContext(tb.Context(), executable, "compare", "-tp", problem, "-gp", bench, "-o", out) //nolint:gosec // set by the person who runs the test
	said, err := cmd.CombinedOutput()
	if err != nil {
		tb.Fatalf("run msProbe: %v\n%s", err, said)
	}
	files, err := filepath.Glob(filepath.Join(out, "compare_result_*.csv"))
	if err != nil || len(files) == 0 {
		tb.Fatalf("msProbe wrote %q, %v\n%s", files, err, said)
	}
	return files
}
