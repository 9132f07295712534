package answers

import (
	"encoding/xml"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tensortap/tensortap/e2e/internal/program"
	"github.com/tensortap/tensortap/internal/dev/recorded"
)

// suites is JUnit XML as CI systems read it.
type suites struct {
	XMLName xml.Name `xml:"testsuites"`
	Suites  []struct {
		Name     string `xml:"name,attr"`
		Tests    int    `xml:"tests,attr"`
		Failures int    `xml:"failures,attr"`
		Errors   int    `xml:"errors,attr"`
		Cases    []struct {
			Name    string    `xml:"name,attr"`
			Failure *struct { // the first line that differs
				Message string `xml:"message,attr"`
			} `xml:"failure"`
			Error *struct {
				Message string `xml:"message,attr"`
			} `xml:"error"`
		} `xml:"testcase"`
	} `xml:"testsuite"`
}

// of are the cases by name: empty for one that passed, else its message.
func (s suites) of(t *testing.T) map[string]string {
	t.Helper()
	if len(s.Suites) != 1 {
		t.Fatalf("%d suites", len(s.Suites))
	}
	said := map[string]string{}
	for _, c := range s.Suites[0].Cases {
		switch {
		case c.Failure != nil:
			said[c.Name] = "failure: " + c.Failure.Message
		case c.Error != nil:
			said[c.Name] = "error: " + c.Error.Message
		default:
			said[c.Name] = ""
		}
	}
	return said
}

// nightly lays out eighteen folders as a nightly job leaves them, three of them with a fault and one cut short, and
// returns the file that compares them, and one that is not there.
func nightly(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	place := func(name, dump string) {
		if err := os.CopyFS(filepath.Join(dir, name), os.DirFS(recorded.Unpack(t, dump))); err != nil {
			t.Fatal(err)
		}
	}
	place("good", "B00_golden_mix")
	for i := range 15 {
		place(fmt.Sprintf("runs/twin-%02d", i), "B01_twin_mix")
	}
	place("runs/weight", "B02_weight_mix")
	place("runs/eps", "B04_eps_mix")
	place("runs/data", "B13_wrong_data_mix")
	place("runs/short", "B01_twin_mix")
	const kept = 20_000
	if err := os.Truncate(filepath.Join(dir, "runs/short/step0/rank0/dump.json"), kept); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "nightly.yaml")
	text := "jobs:\n- {name: '*', problem: runs/*, bench: good/}\n- {name: gone, problem: runs/gone, bench: good/}\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestTwentyPairsAreComparedAsOneJob(t *testing.T) {
	t.Parallel()
	file := nightly(t)
	s := program.Setting{Env: []string{"TMPDIR=" + t.TempDir()}}
	out := program.Run(t, s, "compare", "--jobs", file, "--output", "junit")
	var read suites
	if err := xml.Unmarshal([]byte(out.Stdout), &read); err != nil {
		t.Fatalf("%v in %v", err, out)
	}
	said := read.of(t)
	if one := read.Suites[0]; out.Status != program.ExitError || one.Name != "nightly.yaml" || one.Tests != 20 || one.Failures != 3 || one.Errors != 2 || len(said) != 20 {
		t.Errorf("status %d, %s: %d tests, %d failures, %d errors", out.Status, one.Name, one.Tests, one.Failures, one.Errors)
	}
	for name, want := range map[string]string{
		"twin-00": "", "twin-14": "",
		"weight": "failure: rank 0 step 0 Functional.linear.20.forward input 1: parameter, diverged",
		"eps":    "failure: rank 0 step 0 Tensor.__add__.6.forward input 1: argument, structure",
		"data":   "failure: rank 0 step 0 Functional.embedding.0.forward input 0: data, diverged",
		"short":  "error: nothing differs in what is there, but not all is there",
		"gone":   "error: no such folder: ",
	} {
		if got, is := said[name]; !is || !strings.HasPrefix(got, want) || want == "" && got != "" {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if !strings.Contains(out.Stderr, "warning: short: ") || !strings.HasSuffix(out.Stderr, "tensortap: 20 compared: 15 same, 3 differ, 1 unknown, 1 failed\n") {
		t.Errorf("stderr %q", out.Stderr)
	}
	program.LeavesNothing(t, s)
}

func TestAJobOfStoredRunsHasTheStatusOfTheWorst(t *testing.T) {
	t.Parallel()
	u := program.PublishOnce(t, "B00_golden_mix", "B01_twin_mix", "B02_weight_mix")
	folder := recorded.Unpack(t, "B00_golden_mix")
	const twin, weight = "- {name: twin, problem: B01_twin_mix, bench: B00_golden_mix}\n", "- {name: weight, problem: B02_weight_*, bench: B00_golden_*}\n"
	folders := "- {name: folders, problem: " + folder + ", bench: " + folder + "}\n"
	for _, c := range []struct {
		jobs   string
		at     program.Setting
		status int
		parts  []string
	}{
		{twin + folders, u.Setting, program.ExitSame, []string{"same  twin ", "same  folders "}},
		{twin + weight, u.Setting, program.ExitDiffers, []string{"same ", "differs  weight", "Functional.linear.20.forward input 1"}},
		{twin + "- {name: mixed, problem: B01_twin_mix, bench: " + folder + "}\n", u.Setting, program.ExitError, []string{"publish the folder first"}},
		{twin + folders, program.Setting{}, program.ExitError, []string{"error  twin", "no system is running", "same   folders"}},
		{"- {name: none, problem: no such *, bench: B00_golden_*}\n", u.Setting, program.ExitError, []string{"no stored run fits no such *"}},
	} {
		out := program.Run(t, c.at, "compare", "--jobs", program.TextFile(t, "jobs:\n"+c.jobs))
		if out.Status != c.status {
			t.Errorf("%s%v, want %d", c.jobs, out, c.status)
		}
		for _, part := range c.parts {
			if !strings.Contains(out.Stdout, part) {
				t.Errorf("%s%v, want %q in it", c.jobs, out, part)
			}
		}
	}
}

func TestJobsThatWereJudgedBeforeAreSkipped(t *testing.T) {
	t.Parallel()
	u := program.Shared(t)
	for run, dump := range map[string]string{"new bad": "B02_weight_mix", "new good": "B01_twin_mix"} {
		u.Publish(t, recorded.Unpack(t, dump), run)
	}
	u.Settle(t)
	file := program.TextFile(t, "jobs:\n- {name: all, problem: new bad, bench: new good}\n- {name: first, problem: new bad, bench: new good, rank: 0, steps: '0', tolerance: 0.5}\n")
	ask := func(status int, output string, wants ...string) {
		t.Helper()
		out := program.Run(t, u.Setting, "compare", "--jobs", file, "--only-new", "--output", output)
		for _, want := range wants {
			if out.Status != status || !strings.Contains(out.Stdout, want) {
				t.Errorf("%v, want status %d and %q", out, status, want)
			}
		}
	}
	ask(program.ExitDiffers, "text", "2 compared: 1 same, 1 differ, 0 unknown, 0 failed\n")
	ask(program.ExitSame, "text", "skipped  all ", "judged before", "0 compared: 0 same, 0 differ, 0 unknown, 0 failed; 2 skipped\n")
	ask(program.ExitSame, "junit", `skipped="2"`, `<skipped message="judged before">`)
	ask(program.ExitSame, "json", `"skipped": 2`)
	ask(program.ExitSame, "markdown", "| skipped | first | judged before |")
	u.Publish(t, recorded.Unpack(t, "B04_eps_mix"), "new bad", "--replace")
	u.Settle(t)
	ask(program.ExitDiffers, "text", "2 compared: ")
	for want, args := range map[string][]string{
		"is of folders, of which nothing is kept": {"--jobs", program.TextFile(t, "jobs:\n- {name: a, problem: "+t.TempDir()+", bench: "+t.TempDir()+"}\n"), "--only-new"},
		"--only-new goes with --jobs alone":       {"new bad", "new good", "--only-new"},
	} {
		if out := program.Run(t, u.Setting, append([]string{"compare"}, args...)...); out.Status != program.ExitError || !strings.Contains(out.Stderr, want) {
			t.Errorf("%q: %v, want %q", args, out, want)
		}
	}
}

func TestAJobsFileTakesNoOtherQuestion(t *testing.T) {
	t.Parallel()
	file := program.TextFile(t, "jobs:\n- {name: a, problem: ./b, bench: ./c}\n")
	for want, args := range map[string][]string{
		"--rank does not go with --jobs":                    {"--jobs", file, "--rank", "2"},
		"./more does not go with --jobs":                    {"--jobs", file, "./more"},
		`output "csv": want one of text, json, junit`:       {"--jobs", file, "--output", "csv"},
		`:2:4: key "nam" is not known: is "name" meant?`:    {"--jobs", program.TextFile(t, "jobs:\n- {nam: a}\n")},
		"read jobs: open /no/such/file: no such file or di": {"--jobs", "/no/such/file"},
	} {
		out := program.Run(t, program.Setting{}, append([]string{"compare"}, args...)...)
		if out.Status != program.ExitError || out.Stdout != "" || !strings.Contains(out.Stderr, want) {
			t.Errorf("%q: %v, want %q", args, out, want)
		}
	}
}
