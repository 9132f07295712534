package main

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

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
	line, _, _ = strings.Cut(line, " | ") // what reads the answer
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
			f := c.Flags().Lookup(strings.ReplaceAll(p.Name, "_", "-"))
			if f == nil || f.DefValue != p.Default || f.Usage != p.Doc || (f.Annotations[cobra.BashCompOneRequiredFlag] != nil) != p.Required {
				t.Errorf("report %s: flag %+v of parameter %+v", r.Name, f, p)
			}
		}
		if c.Flags().Lookup("output") == nil || !strings.EqualFold(c.Short, r.Question) {
			t.Errorf("report %s: %q asks %q", r.Name, c.Short, r.Question)
		}
	}
}

func TestShellsComplete(t *testing.T) {
	t.Parallel()
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		out := inside(t, setting{}, "completion", shell)
		if out.status != 0 || out.stderr != "" || !strings.Contains(out.stdout, "tensortap") {
			t.Errorf("completion %s: %.200s", shell, out)
		}
		path, err := exec.LookPath(shell)
		if err != nil || shell == "powershell" {
			continue
		}
		script := filepath.Join(t.TempDir(), "completion")
		if err := os.WriteFile(script, []byte(out.stdout), 0o600); err != nil {
			t.Fatal(err)
		}
		if text, err := exec.CommandContext(t.Context(), path, "-n", script).CombinedOutput(); err != nil {
			t.Errorf("%s does not parse its completion: %v %s", shell, err, text)
		}
	}
	for typed, want := range map[string]string{
		"__complete report div":                   "divergence\t",
		"__complete report divergence --prob":     "--problem\t",
		"__complete compare a b --output ":        "parquet",
		"__complete report overflow --output arr": "arrow",
		"__complete pub":                          "publish\t",
		"__complete capture --level ":             "mix",
		"__complete run --level at":               "aten",
	} {
		if out := inside(t, setting{}, strings.Split(typed, " ")...); out.status != 0 || !strings.Contains(out.stdout, want) {
			t.Errorf("%s: %v, want %q", typed, out, want)
		}
	}
}

func TestWrongCommandLinesAreErrors(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"nope":                                 `unknown command "nope"`,
		"publish nope":                         `unknown tool "nope"`,
		"publish sglang --run x":               `unknown tool "sglang": do you mean sglang-dumper? tensortap publish lists all`,
		"export msprob --run a dir":            `unknown tool "msprob": do you mean msprobe?`,
		"publish --run x":                      "unknown flag: --run; the name of a tool comes first",
		"report divergense":                    `unknown report "divergense": do you mean divergence?`,
		"report divergense --problem x":        `unknown report "divergense": do you mean divergence?`,
		"report nosuch --problem x":            `unknown report "nosuch": do you mean `,
		"report overflow_summari --run x":      `do you mean overflow-summary?`,
		"report --problem x":                   "unknown flag: --problem; the name of a report comes first",
		"report divergence --nope":             "unknown flag: --nope",
		"report xxxxxxxxxxxxxxxxxxxxxxxxxxxx":  "tensortap report lists all",
		"engine nope":                          `unknown command "nope"`,
		"--nope":                               "unknown flag: --nope",
		"runs --nope":                          "unknown flag: --nope",
		"run --run none":                       "no program to run",
		"runs more":                            `unknown command "more"`,
		"up more":                              `unknown command "more"`,
		"version more":                         `unknown command "more"`,
		"query":                                "1 arg",
		"query a b":                            "1 arg",
		"publish msprobe":                      "1 arg",
		"publish msprobe dir":                  `"run" not set`,
		"report divergence --problem a":        `"bench" not set`,
		"runs --output xml":                    "text, json, csv, arrow, parquet",
		"query q --output xml":                 "text, json, csv, arrow, parquet",
		"report completeness --run a -o xml":   "text, json, csv, arrow, parquet",
		"runs --limit many":                    "--limit",
		"up --archive-age soon":                "--archive-age",
		"publish msprobe d --run a --label b":  "name=value",
		"publish msprobe d --run a --label =b": "name=value",
		"runs":                                 "no system is running",
	} {
		out := inside(t, setting{}, strings.Fields(line)...)
		if out.status != 2 || out.stdout != "" || !strings.HasPrefix(out.stderr, "tensortap: ") || !strings.Contains(out.stderr, want) {
			t.Errorf("%s: %v, want status 2 and %q", line, out, want)
		}
	}
	if out := inside(t, setting{}); out.status != 0 || !strings.Contains(out.stdout, "Available Commands:") {
		t.Errorf("no command: %v", out)
	}
}
