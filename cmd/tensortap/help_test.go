package main

import (
	"io"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/tensortap/tensortap/internal/system"
	"github.com/tensortap/tensortap/sql"
)

// commands lists all commands that a user sees, below root.
func commands(root *cobra.Command) []*cobra.Command {
	all := []*cobra.Command{root}
	for _, c := range root.Commands() {
		if !c.Hidden && c.Name() != "help" && c.Name() != "completion" {
			all = append(all, commands(c)...)
		}
	}
	return all
}

func noEnvironment(string) string { return "" }

func TestNoCommandIsListedTwice(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, c := range commands(newRoot(io.Discard, io.Discard, noEnvironment)) {
		if seen[c.CommandPath()] {
			t.Errorf("%s is listed twice", c.CommandPath())
		}
		seen[c.CommandPath()] = true
	}
}

func TestEveryCommandHasHelpWithExamplesThatParse(t *testing.T) {
	t.Parallel()
	all := commands(newRoot(io.Discard, io.Discard, noEnvironment))
	if len(all) < 15 {
		t.Fatalf("%d commands", len(all))
	}
	for _, c := range all {
		path := strings.Fields(c.CommandPath())[1:]
		var stdout, stderr strings.Builder
		status := run(t.Context(), append(path, "--help"), &stdout, &stderr, noEnvironment)
		if status != 0 || stderr.Len() > 0 || !strings.Contains(stdout.String(), "Usage:") || !strings.Contains(stdout.String(), "Examples:") {
			t.Errorf("%s --help: status %d\n%s%s", c.CommandPath(), status, stdout.String(), stderr.String())
		}
		if strings.Contains(stdout.String(), "(default )") {
			t.Errorf("%s --help tells an empty default:\n%s", c.CommandPath(), stdout.String())
		}
		if c.Short == "" {
			t.Errorf("%s does not say what it is for", c.CommandPath())
		}
		for line := range strings.Lines(c.Example) {
			checkExample(t, strings.TrimSpace(line))
		}
	}
}

// checkExample checks that a command line names a command and only flags that it has.
func checkExample(t *testing.T, line string) {
	t.Helper()
	line, _, _ = strings.Cut(line, "   ") // an explanation
	line, _, _ = strings.Cut(line, " | ") // the reader of the answer
	line, _, _ = strings.Cut(line, " > ") // the file for it
	words := shellWords(line)
	if len(words) < 2 || words[0] != "tensortap" {
		t.Errorf("example %q is no command line", line)
		return
	}
	c, rest, err := newRoot(io.Discard, io.Discard, noEnvironment).Find(words[1:])
	if err != nil {
		t.Errorf("example %q: %v", line, err)
		return
	}
	if err := c.ParseFlags(rest); err != nil {
		t.Errorf("example %q: %v", line, err)
	}
	if err := c.ValidateArgs(c.Flags().Args()); err != nil {
		t.Errorf("example %q: %v", line, err)
	}
	if err := c.ValidateRequiredFlags(); err != nil {
		t.Errorf("example %q: %v", line, err)
	}
}

// shellWords splits a line as a shell does, as far as the examples need it.
func shellWords(line string) []string {
	var words []string
	for i, part := range strings.Split(line, "'") {
		if i%2 == 1 {
			words = append(words, part)
			continue
		}
		words = append(words, strings.Fields(part)...)
	}
	return words
}

func TestReportsTakeTheirFlagsFromTheirSQL(t *testing.T) {
	t.Parallel()
	reports, err := sql.Reports()
	if err != nil || len(reports) < 6 {
		t.Fatalf("%d reports, %v", len(reports), err)
	}
	for _, r := range reports {
		name := strings.ReplaceAll(r.Name, "_", "-")
		c, _, err := newRoot(io.Discard, io.Discard, noEnvironment).Find([]string{"report", name})
		if err != nil || c.Name() != name {
			t.Errorf("report %s: no command, %v", r.Name, err)
			continue
		}
		for _, p := range r.Parameters {
			if takesSteps(r) && (p.Name == firstStep || p.Name == lastStep) {
				continue // --steps stands for both
			}
			if system.KnownHere(p.Name) {
				continue // the stream knows it
			}
			f := c.Flags().Lookup(strings.ReplaceAll(p.Name, "_", "-"))
			if f == nil || f.DefValue != p.Default || !strings.HasPrefix(f.Usage, strings.TrimSuffix(p.Doc, ".")) || (f.Annotations[cobra.BashCompOneRequiredFlag] != nil) != p.Required {
				t.Errorf("report %s: flag %+v of parameter %+v", r.Name, f, p)
			}
		}
		if (c.Flags().Lookup("steps") != nil) != takesSteps(r) {
			t.Errorf("report %s: --steps %+v", r.Name, c.Flags().Lookup("steps"))
		}
		if c.Flags().Lookup("output") == nil || !strings.EqualFold(c.Short, r.Question) {
			t.Errorf("report %s: %q asks %q", r.Name, c.Short, r.Question)
		}
	}
}
