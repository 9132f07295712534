package collector

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/tensortap/tensortap/e2e/internal/program"
	"github.com/tensortap/tensortap/e2e/internal/torch"
)

// TestWhatAProgramSaysOfItselfIsInReportsAndTables runs a program that notes, times and saves, and the commands that docs/logs.md shows.
func TestWhatAProgramSaysOfItselfIsInReportsAndTables(t *testing.T) {
	t.Parallel()
	python := torch.Python(t)
	s := program.Launching(t)
	if ran := program.Run(t, s, "run", "--run", "bad", "--", python, "testdata/notes.py"); ran.Status != 0 {
		t.Fatal(ran)
	}
	for command, wants := range map[string][]string{
		"report metrics --run bad --output csv": {"note,loss,0,6,0,2,", "timer,load,0,3,", "note,seed,0,1,,,7,"},
		"logs --run bad":                        {"note phase=start seed=7", "note loss=0.25 request=r-1", "naïve=ключ", "timer load=0.0"},
		"logs --run bad --request r-1":          {"loss=0.25"},
		`query --output csv "SELECT m.step, o.name, m.request FROM tap.metrics AS m INNER JOIN tap_store.op AS o ON o.op_id = m.op_id ORDER BY m.step"`: {
			"0,Module.0.Telling.forward.0,r-1", "2,Module.0.Telling.forward.0,r-1",
		},
		`query --output csv "SELECT step, op FROM tap.tensors WHERE op = 'batch.0.debug'"`: {"0,batch.0.debug", "2,batch.0.debug"},
	} {
		requireSaid(t, s, command, wants...)
	}
	for _, command := range shownCommands(t, "logs.md", "## What your code says itself\n") {
		out := requireSaid(t, s, command)
		if strings.Count(out.Stdout, "\n") < 2 {
			t.Errorf("docs/logs.md shows tensortap %s, which has no rows: %v", command, out)
		}
	}
}

// requireSaid fails the test unless the command says all of it.
func requireSaid(t *testing.T, s program.Setting, command string, wants ...string) program.Outcome {
	t.Helper()
	out := program.Run(t, s, wordsOf(command)...)
	if out.Status != 0 {
		t.Errorf("tensortap %s: %v", command, out)
	}
	for _, want := range wants {
		if !strings.Contains(strings.ReplaceAll(out.Stdout, `"`, ""), want) {
			t.Errorf("tensortap %s lacks %q: %v", command, want, out)
		}
	}
	return out
}

// wordsOf splits a command as a shell would; text within quotes is one word.
func wordsOf(command string) []string {
	var words []string
	for _, match := range regexp.MustCompile(`"([^"]*)"|'([^']*)'|(\S+)`).FindAllStringSubmatch(command, -1) {
		words = append(words, match[1]+match[2]+match[3])
	}
	return words
}

// shownCommands are those of a section of a page, each a line of its own.
func shownCommands(t *testing.T, page, begin string) (commands []string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", page))
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), begin)
	if strings.HasPrefix(begin, "## ") {
		section, _, _ = strings.Cut(section, "\n## ")
	}
	for line := range strings.Lines(section) {
		if command, shown := strings.CutPrefix(line, "    tensortap "); shown {
			commands = append(commands, strings.TrimSpace(command))
		}
	}
	if len(commands) == 0 {
		t.Fatalf("docs/%s shows no command under %q", page, begin)
	}
	return commands
}
