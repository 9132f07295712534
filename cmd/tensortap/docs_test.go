package main

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/tensortap/tensortap/internal/recorded"
	"github.com/tensortap/tensortap/internal/report"
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
			if err := recorded.Extract(filepath.Join(recorded.Dumps, name+".tar.gz"), dir); err != nil {
				t.Fatal(err)
			}
		}
		if got := process(t, setting{dir: dir}, args...); got.stdout != want {
			t.Errorf("tensortap %s\ngot\n%s\nREADME says\n%s\n%s", command, got.stdout, want, got.stderr)
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
	for field := range reflect.TypeFor[report.Object]().Fields() {
		if name := field.Tag.Get("json"); !strings.Contains(string(text), "`"+name+"`") {
			t.Errorf("docs/compare.md does not say what %s is", name)
		}
	}
}
