package answers

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tensortap/tensortap/e2e/internal/program"
	"github.com/tensortap/tensortap/internal/dev/recorded"
)

// compareJSON compares two runs of the shared system, or more.
func compareJSON(tb testing.TB, u *program.Up, args ...string) (program.Outcome, answer) {
	tb.Helper()
	out := program.Run(tb, u.Setting, append([]string{"compare", "--output", "json"}, args...)...)
	return out, parseAnswer(tb, out)
}

func TestCompareTakesTolerancesFromAFile(t *testing.T) {
	t.Parallel()
	u := program.PublishOnce(t, "B02_weight_mix", "B00_golden_mix")
	runs := []string{"B02_weight_mix", "B00_golden_mix"}
	const down = "model.layers.2.mlp.down_proj"
	for _, c := range []struct {
		rules string
		first string // op that differs first; empty for none
	}{
		{"# all of it\n\n* * 10\n", ""},
		{"* torch.float32 10 # all there is\r\n* * 1e-9", ""},
		{"* torch.bfloat16 10\n* * 1e-7", "Functional.linear.20.forward"},
		{down + " * 10\n* * 1e-5", "Module.model.layers.2.mlp.LlamaMLP.forward.0"},
		{down + " * 0\n* * 10", "Functional.linear.20.forward"}, // of two that fit, the first
		{"* * 10\n" + down + " * 0", ""},
		{"it's\\'')] * 0\n* * 10", ""}, // no more than text
	} {
		file := program.TextFile(t, c.rules)
		out, got := compareJSON(t, u, append(runs, "--steps", "0", "--tolerance", file)...)
		first, status := "", 0
		if len(got.Divergence) > 0 {
			first = got.Divergence[0].Op
		}
		if c.first != "" {
			status = 1
		}
		if out.Status != status || first != c.first || got.Tolerance != "by "+file {
			t.Errorf("rules %q: status %d, tolerance %q, first %q, want %d and %q\n%s", c.rules, out.Status, got.Tolerance, first, status, c.first, out.Stderr)
		}
	}
}

func TestCompareRefusesWhatItCannotMean(t *testing.T) {
	t.Parallel()
	missing := filepath.Join(t.TempDir(), "none")
	for _, c := range []struct{ flag, value, want string }{
		{"--tolerance", missing, "neither a number nor a file: open " + missing},
		{"--tolerance", t.TempDir(), "is a directory"},
		{"--tolerance", program.TextFile(t, ""), "no rule in it"},
		{"--tolerance", program.TextFile(t, "# none\n\n"), "no rule in it"},
		{"--tolerance", program.TextFile(t, "* * 1\n\n* 1\n"), "line 3: 2 words, want 3"},
		{"--tolerance", program.TextFile(t, "* * much\n"), `line 1: tolerance "much"`},
		{"--tolerance", program.TextFile(t, "* * 1\n* * -1"), `line 2: tolerance "-1"`},
		{"--tolerance", program.TextFile(t, "* * nan"), `line 1: tolerance "nan"`},
		{"--tolerance", program.TextFile(t, "* * inf"), `line 1: tolerance "inf"`},
		{"--tolerance", program.TextFile(t, strings.Repeat("* * 1\n", 1001)), "1001 rules, limit 1000"},
		{"--steps", "x", `"x" for "--steps" flag: want numbers and ranges, as 0,3-5,10-100/10 or 5-`},
		{"--steps", "0,3-5", "--steps 0,3-5: want one range without gaps here, as 3-5 or 5-"},
		{"--steps", "2-1", `"2-1"`},
		{"--steps", "3:7", "a range is written with a hyphen: 3-7"},
		{"--steps", "-1", `"-1"`},
		{"--steps", "4294967296", `"4294967296"`},
		{"--step-offset", "x", "--step-offset"},
		{"--payload", "true", "--problem-dir and --bench-dir"},
	} {
		out := program.Run(t, program.Setting{}, "compare", "some run", "other run", c.flag+"="+c.value)
		if out.Status != 2 || out.Stdout != "" || !strings.Contains(out.Stderr, c.want) {
			t.Errorf("compare %s=%s: %v, want status 2 and %q", c.flag, c.value, out, c.want)
		}
	}
	if out := program.Run(t, program.Setting{}, "compare", "a", "b", "b"); out.Status != 2 || !strings.Contains(out.Stderr, `bench "b" is named twice`) {
		t.Errorf("a bench twice: %v", out)
	}
}

func TestCompareTakesSteps(t *testing.T) {
	t.Parallel()
	u := program.PublishOnce(t, "B14_nan_l2_mlp_step1_mix", "B00_golden_mix")
	runs := []string{"B14_nan_l2_mlp_step1_mix", "B00_golden_mix"}
	const both = 3630
	for _, c := range []struct {
		args   []string
		status int
		paired int64
	}{
		{[]string{"--steps", "0"}, 0, both / 2},
		{[]string{"--steps", "0-0"}, 0, both / 2},
		{[]string{"--steps", "1"}, 1, both / 2},
		{[]string{"--steps", "1-"}, 1, both / 2},
		{[]string{"--steps", "0-1"}, 1, both},
		{[]string{"--steps", "all"}, 1, both},
		{[]string{"--steps", "2-9"}, 2, 0},
		{[]string{"--steps", "0", "--step-offset", "1"}, 1, both / 2}, // the next step has other data
		{[]string{"--steps", "1", "--step-offset", "-1"}, 1, both / 2},
		{[]string{"--step-offset", "7"}, 2, 0},
	} {
		out, got := compareJSON(t, u, append(c.args, runs...)...)
		if out.Status != c.status || got.Counts["paired"] != c.paired {
			t.Errorf("compare %q: status %d, %d pairs, want %d, %d\n%s", c.args, out.Status, got.Counts["paired"], c.status, c.paired, out.Stderr)
		}
	}
}

func TestStrictCountsWhatOneRunHasAlone(t *testing.T) {
	t.Parallel()
	u := program.PublishOnce(t, "B05_extra_op_mix", "B00_golden_mix", "B01_twin_mix")
	for _, c := range []struct {
		args    []string
		status  int
		verdict string
	}{
		{[]string{"B05_extra_op_mix", "B00_golden_mix"}, 2, "unknown"}, // one run has a second step
		{[]string{"B05_extra_op_mix", "B00_golden_mix", "--steps", "0"}, 0, "same"},
		{[]string{"B05_extra_op_mix", "B00_golden_mix", "--steps", "0", "--strict"}, 1, "differs"},
		{[]string{"B00_golden_mix", "B05_extra_op_mix", "--steps", "0", "--strict"}, 1, "differs"},
		{[]string{"B01_twin_mix", "B00_golden_mix", "--strict"}, 0, "same"},
	} {
		out, got := compareJSON(t, u, c.args...)
		if out.Status != c.status || got.Verdict != c.verdict {
			t.Errorf("compare %q: status %d, %s, want %d, %s\n%s", c.args, out.Status, got.Verdict, c.status, c.verdict, out.Stderr)
		}
	}
}

func TestThreeBenchRunsAreABand(t *testing.T) {
	t.Parallel()
	u := program.PublishOnce(t, "B02_weight_mix", "B00_golden_mix", "B01_twin_mix", "B13_wrong_data_mix")
	few := program.Run(t, u.Setting, "compare", "B02_weight_mix", "B00_golden_mix", "B01_twin_mix")
	if few.Status != 1 || !strings.Contains(few.Stdout, "and 1 further bench run; their spread is no tolerance, that takes 3\n") {
		t.Errorf("two bench runs: %v", few)
	}
	band := program.Run(t, u.Setting, "compare", "B02_weight_mix", "B00_golden_mix", "B01_twin_mix", "B13_wrong_data_mix")
	if !strings.Contains(band.Stdout, "and 2 further bench runs; their spread is the tolerance\n") {
		t.Errorf("three bench runs: %v", band)
	}
	_, narrow := compareJSON(t, u, "B02_weight_mix", "B00_golden_mix")
	_, wide := compareJSON(t, u, "B02_weight_mix", "B00_golden_mix", "B01_twin_mix", "B13_wrong_data_mix")
	if wide.Counts["diverged"] >= narrow.Counts["diverged"] || wide.Counts["paired"] != narrow.Counts["paired"] || len(wide.Benches) != 3 {
		t.Errorf("%d of %d diverge from a band of %q, %d of %d from one run", wide.Counts["diverged"], wide.Counts["paired"], wide.Benches,
			narrow.Counts["diverged"], narrow.Counts["paired"])
	}
}

func TestCompareTakesPayloads(t *testing.T) {
	t.Parallel()
	u := program.Shared(t)
	folders, runs := tensorDumps(t), [2]string{"flag-payload-problem", "flag-payload-bench"}
	publishPair(t, u, folders, runs)
	args := []string{"compare", runs[0], runs[1], "--payload", "--problem-dir", folders[0], "--bench-dir", folders[1]}
	out := program.Run(t, u.Setting, args...)
	if out.Status != 1 || out.Stderr != "" || !strings.Contains(out.Stdout, "48 pairs of raw tensors were compared element by element\n") {
		t.Errorf("compare --payload: %v", out)
	}
	of := program.Run(t, program.Setting{Data: filepath.Join(t.TempDir(), "none")}, "compare", folders[0], folders[1], "--payload")
	if of.Status != 1 || !strings.Contains(of.Stdout, "48 pairs of raw tensors were compared element by element\n") {
		t.Errorf("compare --payload of folders: %v", of)
	}
	_, got := compareJSON(t, u, args[1:]...)
	evidence := map[string]int{}
	for _, d := range got.Divergence {
		evidence[d.Evidence]++
	}
	if evidence["payload"] == 0 {
		t.Errorf("evidence of what differs: %v, want payload among it", evidence)
	}
	missing := program.Run(t, u.Setting, "compare", runs[0], runs[1], "--payload", "--problem-dir", folders[0], "--bench-dir", filepath.Join(folders[1], "none"))
	if missing.Status != 2 || missing.Stdout != "" || !strings.Contains(missing.Stderr, "none") {
		t.Errorf("compare --payload with a folder that is not there: %v", missing)
	}
	// As msProbe prints it, once and for all: the raw tensors are read a single time, so a damaged one is told once.
	damaged := damage(t, folders[0]) - 1 // one of those is in the dump, which was read before
	csv := program.Run(t, u.Setting, append(args, "--output", "msprobe-csv")...)
	if told := strings.Count(csv.Stderr, "warning: "); csv.Status != 1 || told != damaged || len(program.ParseCSV(t, csv.Stdout)) < 48 {
		t.Errorf("compare --payload --output msprobe-csv: %d warnings, want %d: status %d\n%s", told, damaged, csv.Status, csv.Stderr)
	}
}

func TestCompareCompletesRuns(t *testing.T) {
	t.Parallel()
	u := program.PublishOnce(t, "B02_weight_mix", "B00_golden_mix")
	for _, args := range [][]string{{"compare", "B02_we"}, {"compare", "B00_golden_mix", "B02_we"}, {"overflow", "B02_we"}} {
		out := program.Run(t, u.Setting, append([]string{"__complete"}, args...)...)
		if out.Status != 0 || !strings.HasPrefix(out.Stdout, "B02_weight_mix\n") || !strings.HasSuffix(out.Stdout, ":0\n") {
			t.Errorf("%q: %v, want the run, and files too", args, out)
		}
	}
	nothing := program.Run(t, program.Setting{Data: filepath.Join(t.TempDir(), "none")}, "__complete", "compare", "")
	if nothing.Status != 0 || nothing.Stdout != ":0\n" {
		t.Errorf("without a system: %v, want files only", nothing)
	}
}

func TestTheOnlyStepsOfTwoFoldersPairWhateverTheirNumbers(t *testing.T) {
	t.Parallel()
	tensors := tensorDumps(t)[1]
	moved := filepath.Join(t.TempDir(), "moved")
	if err := os.CopyFS(filepath.Join(moved, "step9"), os.DirFS(filepath.Join(tensors, "step0"))); err != nil {
		t.Fatal(err)
	}
	golden := recorded.Unpack(t, "B00_golden_mix")
	for _, c := range []struct {
		args   []string
		status int
		pairs  bool
		says   string
	}{
		{[]string{tensors, moved}, program.ExitSame, true, "step 0 beside step 9, the only one of each"},
		{[]string{moved, tensors, "--payload"}, program.ExitSame, true, "step 9 beside step 0, the only one of each"},
		{[]string{tensors, moved, "--step-offset", "1"}, program.ExitError, false, ""},
		{[]string{tensors, golden, "--steps", "9"}, program.ExitError, false, ""},
	} {
		out := program.Run(t, program.Setting{}, append([]string{"compare"}, c.args...)...)
		if out.Status != c.status || !strings.Contains(out.Stdout, c.says) || c.says == "" && strings.Contains(out.Stdout, "beside step") {
			t.Errorf("compare %q: %v, want status %d and %q", c.args, out, c.status, c.says)
		}
		_, got := compareFoldersJSON(t, c.args...)
		if (got.Counts["paired"] > 0) != c.pairs {
			t.Errorf("compare %q: %d pairs", c.args, got.Counts["paired"])
		}
	}
}

// compareFoldersJSON compares folders, with nothing running.
func compareFoldersJSON(tb testing.TB, args ...string) (program.Outcome, answer) {
	tb.Helper()
	out := program.Run(tb, program.Setting{}, append([]string{"compare", "--output", "json"}, args...)...)
	return out, parseAnswer(tb, out)
}

// TestWhatATableLeavesOutIsCounted asks folders, and so starts nothing.
func TestWhatATableLeavesOutIsCounted(t *testing.T) {
	t.Parallel()
	runs := []string{"compare", recorded.Unpack(t, "B02_weight_mix"), recorded.Unpack(t, "B00_golden_mix")}
	const note = "note: 20 of 782 rows that differ are listed; --limit 0 lists all"
	for _, c := range []struct {
		args         []string
		errs, stdout string
	}{
		{[]string{"--output", "csv"}, note, "rank,"},
		{[]string{"--output", "csv", "--limit", "0"}, "", "rank,"},
		{[]string{"--output", "json"}, "", `"divergence_unlisted": 762,`},
		{[]string{"--output", "json", "--limit", "0"}, "", `"divergence_unlisted": 0,`},
	} {
		out := program.Run(t, nothingStarts(t), append(runs, c.args...)...)
		if out.Status != 1 || strings.Contains(out.Stderr, "note: ") != (c.errs != "") || !strings.Contains(out.Stderr, c.errs) || !strings.Contains(out.Stdout, c.stdout) {
			t.Errorf("%q: status %d, stderr %q, want %q and %q in %.200q", c.args, out.Status, out.Stderr, c.errs, c.stdout, out.Stdout)
		}
	}
}
