package main

import (
	"strings"
	"testing"
)

// refused runs a command that is an error, and gives what it says.
func refused(t *testing.T, args ...string) string {
	t.Helper()
	var stdout, stderr strings.Builder
	if status := run(t.Context(), append(args, "--data", t.TempDir()), &stdout, &stderr, noEnvironment); status != exitError || stdout.Len() > 0 {
		t.Errorf("%q: status %d, want %d\n%s", args, status, exitError, stdout.String())
	}
	return stderr.String()
}

func TestRunsAreNamedWithOrWithoutFlags(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"watch bad good":                              "no system is running",
		"watch --problem bad --bench good":            "no system is running",
		"explain bad good --op x":                     "no system is running",
		"explain bad good1 good2 --op x":              "no system is running",
		"report pairing bad good":                     "no system is running",
		"compare bad good":                            "no system is running",
		"watch":                                       "two runs are wanted, the problem and then the bench: tensortap watch PROBLEM BENCH",
		"compare":                                     "two runs are wanted, the problem and then the bench: tensortap compare PROBLEM BENCH",
		"watch --problem bad":                         "two runs are wanted",
		"watch bad":                                   "bad is to be held against another run: tensortap watch bad BENCH",
		"compare bad":                                 "bad is to be held against another run: tensortap compare bad BENCH",
		"watch bad --bench good":                      "bad is named beside --bench",
		"explain bad good --problem bad --op x":       "bad is named beside --problem",
		"watch good better --problem x --bench y":     "good is named beside --problem",
		"explain bad good good --op x":                `bench "good" is named twice`,
		"explain bad good --op x --calibrate good":    "calibrate with good: it is compared itself",
		"compare bad good --output yaml":              `output "yaml": want one of text, json, csv, arrow, parquet, html, msprobe-csv; with --jobs text, json, junit, markdown`,
		"compare bad good --output yaml --by token":   `output "yaml": want one of text, json, csv, arrow, parquet` + "\n",
		"overflow bad --output yaml":                  `output "yaml": want one of text, json, csv, arrow, parquet, msprobe-json`,
		"publish msprobe ../../nothing/there --run b": "/nothing/there; name a file or folder that is there, as `tensortap publish msprobe --help` shows",
	} {
		if said := refused(t, strings.Fields(line)...); !strings.Contains(said, want) {
			t.Errorf("%s says %q, want %q", line, said, want)
		}
	}
}

func TestWatchRefusesFolders(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	want := folder + " is a folder, and watch follows stored runs; tensortap compare takes folders as they are; to watch it, publish the folder first: tensortap publish msprobe " + folder
	for _, runs := range [][2]string{{folder, "good"}, {"bad", folder}} {
		if said := refused(t, "watch", "--problem", runs[0], "--bench", runs[1]); !strings.Contains(said, want) {
			t.Errorf("watch of %q says %q, want %q", runs, said, want)
		}
	}
}

func TestCompareNotesThatBothSidesAreTheSame(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	for _, c := range []struct {
		runs []string
		want bool
	}{
		{[]string{"good", "good"}, true},
		{[]string{folder, folder + "/./"}, true},
		{[]string{"bad", "good"}, false},
		{[]string{folder, t.TempDir()}, false},
		{[]string{"bad", "good", "bad"}, true},
	} {
		var said strings.Builder
		(&app{stderr: &said}).noteItself(c.runs)
		if noted := strings.Contains(said.String(), "note: problem and bench are the same run, "); noted != c.want {
			t.Errorf("of %q it says %q, and that both are the same: %v wanted", c.runs, said.String(), c.want)
		}
	}
}
