package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/tensortap/tensortap/internal/dev/recorded"
)

// mostFiles is the number of files that CONTRIBUTING allows a change to touch by hand.
const mostFiles = 3

// namedIn has the form in which code names the example of a row of CONTRIBUTING's table.
func namedIn() map[string]string {
	return map[string]string{
		"a report":            `"%s"`,
		"a kind of event":     `\b%s\(\)`,
		"a producer of files": `producers/%s"`,
		"a rule of verdicts":  `\b%s\b`,
		"a consumer":          `consumers/%s"`,
	}
}

func TestAChangeTouchesAsFewFilesAsContributingSays(t *testing.T) {
	t.Parallel()
	seen := 0
	for _, row := range changes(t) {
		pattern, known := namedIn()[row.change]
		if !known {
			t.Errorf("CONTRIBUTING promises something of %q, which nobody counts", row.change)
			continue
		}
		seen++
		row.check(t, regexp.MustCompile(fmt.Sprintf(pattern, row.example)))
	}
	if seen != len(namedIn()) {
		t.Errorf("CONTRIBUTING has %d of %d changes", seen, len(namedIn()))
	}
}

// change is a row of the table.
type change struct {
	change  string
	files   []string
	example string
}

func changes(t *testing.T) []change {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(recorded.Root(), "CONTRIBUTING.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(text), "| change | files touched by hand | example |\n|---|---|---|\n")
	table, _, _ = strings.Cut(table, "\n\n")
	var rows []change
	for line := range strings.Lines(table) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		row := change{change: strings.TrimSpace(cells[0]), example: strings.Trim(cells[2], " `")}
		for file := range strings.SplitSeq(cells[1], ",") {
			row.files = append(row.files, strings.Trim(file, " `"))
		}
		rows = append(rows, row)
	}
	return rows
}

// check finds each file that names the example. It must be one of the row's files.
func (c *change) check(t *testing.T, named *regexp.Regexp) {
	t.Helper()
	if len(c.files) > mostFiles {
		t.Errorf("%s touches %d files: %v", c.change, len(c.files), c.files)
	}
	for _, file := range c.files {
		if _, err := os.Stat(filepath.Join(recorded.Root(), file)); err != nil {
			t.Errorf("%s: %v", c.change, err)
		}
	}
	for _, file := range written(t) {
		text, err := os.ReadFile(filepath.Join(recorded.Root(), file))
		if err == nil && named.Match(text) && !c.lists(file) {
			t.Errorf("%s: %s names %s, too", c.change, file, c.example)
		}
	}
}

func (c *change) lists(file string) bool {
	for _, listed := range c.files {
		if file == listed || strings.HasPrefix(file, listed+"/") {
			return true
		}
	}
	return false
}

// written are the files of code that a person writes, without tests and the tools of those who work on tensortap.
func written(t *testing.T) []string {
	t.Helper()
	list, err := exec.CommandContext(t.Context(), "git", "-C", recorded.Root(), "ls-files", "*.go", "*.sql").Output()
	if err != nil {
		t.Fatalf("the files of the repository cannot be listed: %v", err)
	}
	var files []string
	for file := range strings.FieldsSeq(string(list)) {
		if !strings.HasSuffix(file, "_test.go") && !strings.HasSuffix(file, "_gen.go") && !strings.HasPrefix(file, "internal/dev/") && !strings.HasPrefix(file, "sql/tables/") {
			files = append(files, file)
		}
	}
	return files
}
