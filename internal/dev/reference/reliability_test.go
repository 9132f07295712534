package main

import (
	"errors"
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
		for _, found := range name.FindAllStringSubmatch(string(text), -1) {
			known[found[1]] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	makefile, err := os.ReadFile(filepath.Join(recorded.Root(), "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	for _, target := range regexp.MustCompile(`(?m)^([a-z-]+):`).FindAllStringSubmatch(string(makefile), -1) {
		known["make "+target[1]] = true
	}
	return known
}
