package main

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/tensortap/tensortap/internal/dev/recorded"
)

// pages are those that name tests and targets of make for what they claim.
var pages = []string{"RELIABILITY.md", "damage.md", "security.md", "OPERATIONS.md"} //nolint:gochecknoglobals // names

// fewestNames is what each of the pages names at least: else the expression does not find them.
const fewestNames = 15

// TestEveryTestAndTargetThatAPageNamesExists reads the pages that claim something by a test.
func TestEveryTestAndTargetThatAPageNamesExists(t *testing.T) {
	t.Parallel()
	known := declared(t)
	named := regexp.MustCompile("`((?:Test|Fuzz)[A-Z][A-Za-z0-9_]*|test_[a-z0-9_]+|make [a-z][a-z-]*)")
	for _, page := range pages {
		text, err := os.ReadFile(filepath.Join(recorded.Root(), "docs", page))
		if err != nil {
			t.Fatal(err)
		}
		names := named.FindAllStringSubmatch(string(text), -1)
		if len(names) < fewestNames {
			t.Errorf("docs/%s names %d tests and targets", page, len(names))
		}
		for _, name := range names {
			if !known[name[1]] {
				t.Errorf("docs/%s names %s, which does not exist", page, name[1])
			}
		}
	}
}

var update = flag.Bool("update", false, "mark the tests on pages that make soak alone runs") //nolint:gochecknoglobals // a flag of the test

// mark follows the name of a test that make test leaves out.
const mark = "°"

// TestPagesMarkTheTestsThatSoakAloneRuns holds the marks against the tests themselves.
func TestPagesMarkTheTestsThatSoakAloneRuns(t *testing.T) {
	t.Parallel()
	left := map[string]bool{}
	test := regexp.MustCompile(`(?ms)^func (Test\w+)\(t \*testing\.T\) \{.*?^\}`)
	readTests(t, func(text string) {
		for _, found := range test.FindAllStringSubmatch(text, -1) {
			if strings.Contains(found[0], "\n\tsoak.Only(t)") {
				left[found[1]] = true
			}
		}
	})
	if len(left) == 0 {
		t.Fatal("make test leaves no test out: the expression does not find them")
	}
	named := regexp.MustCompile("`(Test[A-Za-z0-9_]+)`" + mark + "?")
	for _, page := range pages {
		path := filepath.Join(recorded.Root(), "docs", page)
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		want := named.ReplaceAllStringFunc(string(text), func(name string) string {
			name = strings.TrimSuffix(name, mark)
			if left[strings.Trim(name, "`")] {
				return name + mark
			}
			return name
		})
		switch {
		case want == string(text):
		case *update:
			if err := os.WriteFile(path, []byte(want), 0o600); err != nil {
				t.Fatal(err)
			}
		default:
			t.Errorf("docs/%s does not mark the tests that make test leaves out: run with -update", page)
		}
	}
}

// TestReliabilityHasARowForEachTrial counts them: T1 to T22, each with six cells.
func TestReliabilityHasARowForEachTrial(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(recorded.Root(), "docs", "RELIABILITY.md"))
	if err != nil {
		t.Fatal(err)
	}
	const trials, cells = 22, 6
	for trial := range trials {
		_, row, found := strings.Cut(string(text), fmt.Sprintf("\n| T%d |", trial+1))
		row, _, _ = strings.Cut(row, "\n")
		if n := strings.Count(row, "|"); !found || n != cells-1 {
			t.Errorf("T%d has %d cells behind its name, want %d", trial+1, n, cells-1)
		}
	}
}

// declared are the tests of the tree, Go's and Python's, and the targets of the Makefile.
func declared(t *testing.T) map[string]bool {
	t.Helper()
	known := map[string]bool{}
	name := regexp.MustCompile(`(?m)^(?:func |def )((?:Test|Fuzz|test_)\w+)\(`)
	readTests(t, func(text string) {
		for _, found := range name.FindAllStringSubmatch(text, -1) {
			known[found[1]] = true
		}
	})
	makefile, err := os.ReadFile(filepath.Join(recorded.Root(), "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	for _, target := range regexp.MustCompile(`(?m)^([a-z-]+):`).FindAllStringSubmatch(string(makefile), -1) {
		known["make "+target[1]] = true
	}
	return known
}

// readTests reads the files of tests, Go's and Python's.
func readTests(t *testing.T, read func(text string)) {
	t.Helper()
	err := filepath.WalkDir(recorded.Root(), func(path string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // of a test beside this one
		}
		if err != nil {
			return err
		}
		if entry.IsDir() && (entry.Name() == "node_modules" || strings.HasPrefix(entry.Name(), ".") && path != recorded.Root()) {
			return filepath.SkipDir
		}
		if python := strings.HasPrefix(entry.Name(), "test_") && strings.HasSuffix(path, ".py"); !python && !strings.HasSuffix(path, "_test.go") {
			return nil
		}
		text, err := os.ReadFile(path)
		read(string(text))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
