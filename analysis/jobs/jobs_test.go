package jobs_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tensortap/tensortap/analysis/jobs"
)

const whole = `
jobs:
  - name: llama
    problem: runs/llama/dump
    bench: [golden/a, golden/b, stored]
    tolerance: 1e-3
    steps: 0,3-5,10-100/10
    rank: 2
    step_offset: -3
    strict: true
    map: fused.yaml
  - {name: resnet, problem: bad, bench: good, tolerance: rules.tol}
`

func TestParseReadsEveryKey(t *testing.T) {
	t.Parallel()
	all, err := jobs.Parse("ci/nightly.yaml", []byte(whole))
	if err != nil {
		t.Fatal(err)
	}
	llama, resnet := all[0], all[1]
	if got := strings.Join(append([]string{llama.Problem, llama.Map, llama.Tolerance, llama.Steps.String()}, llama.Benches...), " "); got != "ci/runs/llama/dump ci/fused.yaml 1e-3 0,3-5,10-100/10 ci/golden/a ci/golden/b stored" {
		t.Errorf("the first job reads as %s", got)
	}
	if llama.Rank != 2 || llama.StepOffset != -3 || !llama.Strict || llama.Line != 3 {
		t.Errorf("the first job reads as %+v", llama)
	}
	if resnet.Rank != -1 || resnet.Problem != "bad" || resnet.Tolerance != "ci/rules.tol" || !resnet.Steps.All() || resnet.Strict {
		t.Errorf("the second job reads as %+v", resnet)
	}
}

func TestParseKeepsFoldersApartFromStoredRuns(t *testing.T) {
	t.Parallel()
	all, err := jobs.Parse("nightly.yaml", []byte("jobs: [{name: a, problem: ./bad, bench: good, map: m.yaml}]"))
	if err != nil {
		t.Fatal(err)
	}
	if all[0].Problem != "./bad" || all[0].Benches[0] != "good" || all[0].Map != "./m.yaml" {
		t.Errorf("got %+v", all[0])
	}
}

func TestParseSaysWhatIsWrongAndWhere(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                    "f.yaml: the file is empty",
		"job: []":             `f.yaml:1:1: key "job" is not known: is "jobs" meant?`,
		"{}":                  `f.yaml:1:1: key "jobs" is missing`,
		"jobs: []":            "f.yaml:1:7: want at least one job",
		"jobs:":               "f.yaml:1:6: want a list, not nothing",
		"jobs: [a]":           `f.yaml:1:8: want keys with values, not "a"`,
		"jobs:\n- {name: a}":  `f.yaml:2:3: key "problem" is missing`,
		"jobs:\n- {bensh: a}": `f.yaml:2:4: key "bensh" is not known: is "bench" meant?`,
		"jobs:\n- {name: a, problem: b, bench: c, toleranse: 1}":                      `f.yaml:2:35: key "toleranse" is not known: is "tolerance" meant?`,
		"jobs:\n- {name: a, problem: b, bench: []}":                                   "f.yaml:2:32: want at least one bench",
		"jobs:\n- {name: a, problem: b, bench: c, tolerance: .nan}":                   "tolerance .nan: want",
		"jobs:\n- {name: a, problem: b, bench: c, tolerance: -1}":                     "tolerance -1: want a number from 0 on, or a file",
		"jobs:\n- {name: a, problem: b, bench: c, tolerance: NaN}":                    "tolerance NaN",
		"jobs:\n- {name: a, problem: b, bench: c, steps: 3:5}":                        "f.yaml:2:42: ",
		"jobs:\n- {name: a, problem: b, bench: c, rank: -1}":                          "want a whole number from 0 to 4294967295",
		"jobs:\n- {name: a, problem: b, bench: c, strict: yes}":                       `want true or false, not "yes"`,
		"jobs:\n- {name: a, problem: b, bench: c}\n- {name: a, problem: d, bench: e}": `f.yaml:3:3: the job of line 2 is named "a", too`,
		"jobs:\n- {name: a, problem: 'b/*', bench: 'c/*/*'}":                          "f.yaml:2:36: \"c/*/*\" has 2 stars",
		"jobs:\n- name: a\n  problem: b\n  bench: c\n  name: d":                       `key "name" stands in line 2 already`,
	} {
		_, err := jobs.Parse("f.yaml", []byte(text))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Parse(%q) = %v, want an error with %s", text, err, want)
		}
	}
}

func TestExpandPairsFoldersByWhatTheStarsMatch(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for _, folder := range []string{"runs/a/dump", "runs/b/dump", "golden/a", "golden/b", "odd[x]/1"} {
		if err := os.MkdirAll(filepath.Join(root, folder), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(root, "golden", "README"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	text := `
jobs:
  - {name: "model *", problem: "runs/*/dump", bench: "golden/*", map: m.yaml}
  - {name: band, problem: runs/a/dump, bench: "golden/*"}
  - {name: odd, problem: "odd[x]/*", bench: golden/a}
  - {name: none, problem: "nowhere/*", bench: golden/a}
  - {name: stored, problem: "bad-*", bench: "good-*"}
  - {name: gone, problem: nowhere, bench: golden/gone}
  - {name: "team *", problem: "team/*", bench: good-1}
  - {name: path, problem: golden/a, bench: team/2}
  - {name: "of a team", problem: team/1, bench: "team/*"}
`
	all, err := jobs.Parse(filepath.Join(root, "f.yaml"), []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, p := range jobs.Expand(all, []string{"bad-2", "bad-1", "good-1", "other", "team/1", "team/2", "golden/a"}, jobs.Folders) {
		line := p.Name + ": " + p.Problem + " beside " + strings.Join(p.Benches, " ")
		if p.Fault != nil {
			line = p.Name + " fails: " + p.Fault.Error()
		} else if p.Stored {
			line += ", stored"
		}
		got = append(got, strings.ReplaceAll(line, root+"/", ""))
	}
	want := []string{
		"model a: runs/a/dump beside golden/a",
		"model b: runs/b/dump beside golden/b",
		"band: runs/a/dump beside golden/a golden/b",
		"odd 1: odd[x]/1 beside golden/a",
		"none fails: no folder fits nowhere/*",
		"stored 1: bad-1 beside good-1, stored",
		"stored 2: bad-2 beside good-2, stored",
		"gone fails: no such folder: golden/gone; and no stored run is known by the name golden/gone",
		"team 1: team/1 beside good-1, stored",
		"team 2: team/2 beside good-1, stored",
		"path: golden/a beside team/2",
		"of a team: team/1 beside team/1 team/2, stored",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestExpandNumbersNamesThatStandTwice(t *testing.T) {
	t.Parallel()
	all, err := jobs.Parse("f.yaml", []byte("jobs:\n- {name: a, problem: 'r*', bench: b}\n- {name: a 1, problem: c, bench: d}\n- {name: a 1 (2), problem: c, bench: d}\n"))
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, p := range jobs.Expand(all, []string{"r1", "r2"}, jobs.Folders) {
		if names[p.Name] {
			t.Errorf("name %q stands twice", p.Name)
		}
		names[p.Name] = true
	}
	if len(names) != 4 {
		t.Errorf("got %d pairs, want 4", len(names))
	}
}
