package answers

import (
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tensortap/tensortap/e2e/internal/program"
	"github.com/tensortap/tensortap/internal/dev/recorded"
)

// unpackParts extracts a recording of a small Llama on one or several tensor-parallel ranks: testdata/tp/make.sh.
func unpackParts(tb testing.TB, name, dir string) string {
	tb.Helper()
	if err := recorded.Extract(filepath.Join("testdata", "tp", name+".tar.gz"), dir); err != nil {
		tb.Fatal(err)
	}
	return filepath.Join(dir, name)
}

// partsAnswer is what counts here of a comparison.
type partsAnswer struct {
	Verdict string           `json:"verdict"`
	Counts  map[string]int64 `json:"counts"`
	Merged  []struct {
		Run    string              `json:"run"`
		Groups map[string][]uint32 `json:"groups"`
	} `json:"merged"`
	Origins []struct {
		Rank    int    `json:"rank"`
		Ranks   []int  `json:"ranks"`
		Because string `json:"ranks_because"`
		Module  string `json:"module"`
		Kind    string `json:"kind"`
	} `json:"origins"`
	Summary []struct {
		UnknownReasons string `json:"unknown_reasons"`
	} `json:"summary"`
}

func compareParts(tb testing.TB, s program.Setting, problem, bench string) (partsAnswer, int) {
	tb.Helper()
	out := program.Run(tb, s, "compare", problem, bench, "--output", "json")
	var a partsAnswer
	if err := json.Unmarshal([]byte(out.Stdout), &a); err != nil {
		tb.Fatalf("compare %s %s: %v in %v", problem, bench, err, out)
	}
	return a, out.Status
}

func TestRunsOfOtherTensorParallelSizesAgree(t *testing.T) {
	t.Parallel()
	u := program.Shared(t)
	folders := map[string]string{}
	for _, run := range []string{"whole", "halves", "quarters"} {
		folders[run] = filepath.Join(unpackParts(t, run, t.TempDir()), "dump")
		u.Publish(t, folders[run], run)
	}
	u.Settle(t)
	for _, c := range []struct {
		problem, bench string
		merged         int   // runs
		agreeing       int64 // at least
		unpaired       int64 // only in the problem: biases that are none
	}{
		{"whole", "halves", 1, 350, 14},
		{"quarters", "halves", 2, 350, 0},
	} {
		a, status := compareParts(t, u.Setting, c.problem, c.bench)
		if status != 0 || a.Verdict != "same" || len(a.Merged) != c.merged {
			t.Errorf("%s against %s: status %d, %s, merged %v", c.problem, c.bench, status, a.Verdict, a.Merged)
		}
		if n := a.Counts; n["diverged"]+n["structure"]+n["not_finite"] > 0 || n["agrees"] < c.agreeing || n["unknown"] > 20 || n["only_problem"] != c.unpaired {
			t.Errorf("%s against %s: %v", c.problem, c.bench, n)
		}
		if a.Counts["unknown"] > 0 && a.Summary[0].UnknownReasons != "ranks hold different values" {
			t.Errorf("%s against %s: unknown because %q", c.problem, c.bench, a.Summary[0].UnknownReasons)
		}
		if of, status := compareParts(t, u.Setting, folders[c.problem], folders[c.bench]); status != 0 || len(of.Merged) != c.merged || !maps.Equal(of.Counts, a.Counts) {
			t.Errorf("folders %s against %s: status %d, merged %v, %v; of the stored runs %v", c.problem, c.bench, status, of.Merged, of.Counts, a.Counts)
		}
	}
}

func TestScaledPartOfAWeightIsTracedToItsRank(t *testing.T) {
	t.Parallel()
	u := program.Shared(t)
	scaled, whole := filepath.Join(unpackParts(t, "scaled", t.TempDir()), "dump"), filepath.Join(unpackParts(t, "whole", t.TempDir()), "dump")
	u.Publish(t, scaled, "scaled part")
	u.Publish(t, whole, "the whole of it")
	root := filepath.Join(u.Data, "spool")
	for _, name := range []string{"spool_scaled", "spool_whole"} { // of ranks that know their coordinates
		unpackSpools(t, name, root)
	}
	program.Served(t, root)
	u.Settle(t)
	for _, run := range [][2]string{{"scaled part", "the whole of it"}, {"spool_scaled", "spool_whole"}} {
		a, status := compareParts(t, u.Setting, run[0], run[1])
		if status != 1 || len(a.Origins) != 1 {
			t.Fatalf("%s against %s: status %d, origins %v", run[0], run[1], status, a.Origins)
		}
		o := a.Origins[0]
		if o.Module != "layers.1.mlp.up_proj" || o.Kind != "parameter" || o.Rank != 1 || !slices.Equal(o.Ranks, []int{1}) || !strings.Contains(o.Because, "beyond the whole") {
			t.Errorf("%s against %s began at %+v", run[0], run[1], o)
		}
	}
	if out := program.Run(t, u.Setting, "compare", "scaled part", "the whole of it"); !strings.Contains(out.Stdout, "merged       of scaled part, ranks 0, 1 made one\n") {
		t.Errorf("the note does not say that ranks were merged:\n%s", out.Stdout)
	}
	u.Settle(t)
	stored := u.Query(t, `SELECT
		(SELECT count() FROM tap_store.run WHERE name LIKE '%merged%'),
		countIf(problem_layout_id NOT IN (SELECT layout_id FROM tap_store.layout)), count() > 0
		FROM tap_store.verdict
		WHERE run_id = xxh3('scaled part\x1f') AND problem_layout_id != 0`)[0]
	if !slices.Equal(stored, []string{"0", "0", "1"}) {
		t.Errorf("merged runs, verdicts on layouts that nobody knows, and whether there are verdicts: %v", stored)
	}
	checkParts(t, u.Setting, "scaled part", "the whole of it")
	checkParts(t, nothingStarts(t), scaled, whole)
}

// checkParts explains an op of a rank that became one with another.
func checkParts(t *testing.T, s program.Setting, scaled, whole string) {
	t.Helper()
	out := program.Run(t, s, "explain", "--problem", scaled, "--bench", whole, "--op", "Functional.linear.12.forward", "--rank", "1")
	for _, part := range []string{"of parts     rank 0  input 0  [2,8,32]", "rank 0  input 1  [32,32]", "rank 1  input 1  [32,32]  min -0.194196"} {
		if !strings.Contains(out.Stdout, part) {
			t.Errorf("explain of %s lacks %q:\n%s%s", scaled, part, out.Stdout, out.Stderr)
		}
	}
}

// unpackSpools puts recorded folders of processes where an agent finds them.
func unpackSpools(tb testing.TB, name, root string) {
	tb.Helper()
	folder := unpackParts(tb, name, tb.TempDir())
	processes, err := filepath.Glob(filepath.Join(folder, "*"))
	if err = errors.Join(err, os.MkdirAll(root, 0o700)); err != nil || len(processes) == 0 {
		tb.Fatalf("%s holds no spool: %v", name, err)
	}
	for _, process := range processes {
		if err := os.Rename(process, filepath.Join(root, filepath.Base(process))); err != nil { // whole at once: an agent looks
			tb.Fatal(err)
		}
	}
}

// Copies of a model on more ranks, as data-parallel training has them, are no parts.
func TestRanksWithWholeWeightsAreNotMerged(t *testing.T) {
	t.Parallel()
	u := program.Shared(t)
	whole := filepath.Join(unpackParts(t, "whole", t.TempDir()), "dump")
	twice := t.TempDir()
	for _, rank := range []string{"rank0", "rank1"} {
		if err := os.CopyFS(filepath.Join(twice, "step0", rank), os.DirFS(filepath.Join(whole, "step0", "rank0"))); err != nil {
			t.Fatal(err)
		}
	}
	u.Publish(t, whole, "one copy")
	u.Publish(t, twice, "two copies")
	u.Settle(t)
	a, status := compareParts(t, u.Setting, "two copies", "one copy")
	if status != 2 || len(a.Merged) != 0 || a.Counts["agrees"] < 350 || a.Counts["diverged"] > 0 {
		t.Errorf("two copies against one: status %d, merged %v, %v", status, a.Merged, a.Counts)
	}
}
