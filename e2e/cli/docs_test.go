package cli

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/tensortap/tensortap/analysis/report"
	"github.com/tensortap/tensortap/e2e/internal/program"
	"github.com/tensortap/tensortap/internal/dev/recorded"
)

// TestReadmeShowsWhatTheCommandPrints runs every command shown with its output.
func TestReadmeShowsWhatTheCommandPrints(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	shown := 0
	for block := range strings.SplitSeq(string(text), "```") {
		line, want, found := strings.Cut(strings.TrimPrefix(block, "console\n"), "\n")
		command, isCommand := strings.CutPrefix(line, "$ tensortap ")
		if !found || !isCommand {
			continue
		}
		shown++
		args := strings.Fields(command)
		for _, arg := range args[1:] {
			name, _, _ := strings.Cut(arg, "/")
			if err := recorded.Extract(filepath.Join(recorded.Dumps(), name+".tar.gz"), dir); err != nil {
				t.Fatal(err)
			}
		}
		if got := program.Run(t, program.Setting{Dir: dir}, args...); got.Stdout != want {
			t.Errorf("tensortap %s\ngot\n%s\nREADME says\n%s\n%s", command, got.Stdout, want, got.Stderr)
		}
	}
	if shown == 0 {
		t.Error("README.md shows no command with its output")
	}
}

func TestEveryFieldOfAnAnswerIsDocumented(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "compare.md"))
	if err != nil {
		t.Fatal(err)
	}
	for begin, object := range map[string]reflect.Type{
		"## The answer as JSON\n":            reflect.TypeFor[report.Object](),
		"`tensortap watch --output json`":    reflect.TypeFor[report.WatchEvent](),
		"`tensortap explain --output json`":  reflect.TypeFor[report.ExplanationObject](),
		"`tensortap overflow --output json`": reflect.TypeFor[report.OverflowObject](),
	} {
		table := documentedFields(t, string(text), begin)
		var want []string
		for field := range object.Fields() {
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			want = append(want, name)
		}
		for _, name := range want {
			if !slices.Contains(table, name) {
				t.Errorf("docs/compare.md does not say under %q what %s is", begin, name)
			}
		}
		for _, name := range table {
			if !slices.Contains(want, name) {
				t.Errorf("docs/compare.md says under %q what %s is, which no answer has", begin, name)
			}
		}
	}
}

// documentedFields are the names in the first column of the table that follows the text.
func documentedFields(t *testing.T, page, begin string) []string {
	t.Helper()
	_, after, _ := strings.Cut(page, begin)
	_, table, found := strings.Cut(after, "|---|")
	if !found {
		t.Fatalf("docs/compare.md has no table after %q", begin)
	}
	table, _, _ = strings.Cut(table, "\n\n")
	var names []string
	for line := range strings.Lines(table) {
		if first, row := strings.CutPrefix(line, "| "); row {
			first, _, _ = strings.Cut(first, " |")
			for name := range strings.SplitSeq(first, ", ") {
				names = append(names, strings.Trim(name, "`"))
			}
		}
	}
	return names
}

func TestEveryTestThatTheDocsNameExists(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..")
	there := testsBelow(t, root)
	for page, least := range map[string]int{"damage.md": 10, "retention.md": 5} {
		text, err := os.ReadFile(filepath.Join(root, "docs", page))
		if err != nil {
			t.Fatal(err)
		}
		named := regexp.MustCompile("`(Test[A-Za-z0-9]+)`").FindAllSubmatch(text, -1)
		for _, match := range named {
			if !there[string(match[1])] {
				t.Errorf("docs/%s names %s, which no file has", page, match[1])
			}
		}
		if len(named) < least {
			t.Errorf("docs/%s names %d tests", page, len(named))
		}
	}
}

// testsBelow are the names of the tests in the source tree.
func testsBelow(t *testing.T, root string) map[string]bool {
	t.Helper()
	declared, there := regexp.MustCompile(`(?m)^func (Test\w+)\(`), map[string]bool{}
	err := filepath.WalkDir(root, func(path string, entry os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && (entry.Name() == "node_modules" || strings.HasPrefix(entry.Name(), ".") && entry.Name() != "..") {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(path, "_test.go") {
			return nil
		}
		text, err := os.ReadFile(path)
		for _, match := range declared.FindAllSubmatch(text, -1) {
			there[string(match[1])] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return there
}
