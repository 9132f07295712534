package answers

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tensortap/tensortap/e2e/internal/program"
	"github.com/tensortap/tensortap/internal/dev/recorded"
)

// sglangDumper is what SGLang's dumper and its comparator have left: the files of two servers, and which of them differ.
const sglangDumper = "../../producers/sglangdumper/testdata"

func unpackTo(tb testing.TB, archive string) string {
	tb.Helper()
	dir := tb.TempDir()
	if err := recorded.Extract(archive, dir); err != nil {
		tb.Fatal(err)
	}
	return dir
}

// firstFailure is the op whose output SGLang's own comparator finds to differ first.
func firstFailure(tb testing.TB) string {
	tb.Helper()
	var said struct {
		Failed []struct {
			Step int    `json:"step"`
			Name string `json:"name"`
		} `json:"failed_tensors"`
	}
	text, err := os.ReadFile(filepath.Join(sglangDumper, "problem.first_fail.json"))
	if err == nil {
		err = json.Unmarshal(text, &said)
	}
	if err != nil || len(said.Failed) == 0 || said.Failed[0].Step != 0 {
		tb.Fatalf("%+v, %v", said, err)
	}
	module := strings.TrimSuffix(strings.TrimPrefix(said.Failed[0].Name, "non_intrusive__"), ".output")
	return "step 0, rank 0, op Module." + module + ".Module.forward.0"
}

func TestDumpsOfSGLangAreComparedAsItsComparatorDoes(t *testing.T) {
	t.Parallel()
	problem, bench := unpackTo(t, sglangDumper+"/problem.tar.gz"), unpackTo(t, sglangDumper+"/bench.tar.gz")
	out := program.Run(t, program.Setting{}, "compare", problem, bench)
	t.Log(out)
	if out.Status != 1 || !strings.Contains(out.Stdout, firstFailure(t)) {
		t.Errorf("status %d, want 1, and that it began at %s", out.Status, firstFailure(t))
	}
	out = program.Run(t, program.Setting{}, "compare", otherRequests(t), bench, "--payload")
	if out.Status != 0 || !strings.Contains(out.Stdout, "261 pairs of raw tensors") {
		t.Errorf("only the ids of requests differ: %v", out)
	}
}

// otherRequests is the bench's dump as if other requests had been served.
func otherRequests(tb testing.TB) string {
	tb.Helper()
	dir := unpackTo(tb, sglangDumper+"/bench.tar.gz")
	files, err := filepath.Glob(filepath.Join(dir, "bench", "*name=rids*.pt"))
	if err != nil || len(files) != 3 {
		tb.Fatal(files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			tb.Fatal(err)
		}
		other := bytes.ReplaceAll(text, []byte("82c970d3514647a08351cf2e23ee5bfa"), []byte("82c970d3514647a08351cf2e23ee5bf0"))
		if bytes.Equal(other, text) {
			tb.Fatalf("%s has no id of a request", file)
		}
		if err := os.WriteFile(file, other, 0o600); err != nil {
			tb.Fatal(err)
		}
	}
	return dir
}

func TestADumpOfSGLangIsStoredOnce(t *testing.T) {
	t.Parallel()
	u := program.Shared(t)
	dir := unpackTo(t, sglangDumper+"/bench.tar.gz")
	publish := []string{"publish", "sglang-dumper", dir, "--run", "sglang dumper"}
	for _, want := range []string{"published ", "3 of 3 steps of ranks were published before"} {
		if out := program.Run(t, u.Setting, publish...); out.Status != 0 || out.Stderr != "" || !strings.Contains(out.Stdout, want) {
			t.Errorf("%q lacks %q: %v", publish, want, out)
		}
	}
	u.Settle(t)
	rows := u.Query(t, `SELECT count(), uniqExact(op), countIf(value_l2 > 0), countIf(digest_kind = 3) FROM tap.tensors WHERE run = 'sglang dumper'`)
	if got := strings.Join(rows[0], " "); got != "264 36 261 261" {
		t.Errorf("%s", got)
	}
}

// TestAScaledModuleIsFoundInDumpsThatMsprobeMadeInSGLang compares two tensor-parallel servers, whose requests have other ids.
func TestAScaledModuleIsFoundInDumpsThatMsprobeMadeInSGLang(t *testing.T) {
	t.Parallel()
	problem, bench := unpackTo(t, "testdata/sglang/msprobe_problem.tar.gz"), unpackTo(t, "testdata/sglang/msprobe_bench.tar.gz")
	out := program.Run(t, program.Setting{}, "compare", problem, bench, "--output", "csv", "--limit", "1000")
	lines := strings.Split(out.Stdout, "\n")
	if out.Status != 1 || len(lines) < 52 || !strings.Contains(lines[1], "Functional.linear.7.forward") || !strings.Contains(lines[1], "model.layers.1.mlp.down_proj") {
		t.Errorf("status %d, want 1, and the scaled module's linear first: %.2000s", out.Status, out.Stdout)
	}
	if strings.Contains(out.Stdout, "rids") {
		t.Errorf("ids of requests differ between any two servers: %s", out.Stdout)
	}
}
