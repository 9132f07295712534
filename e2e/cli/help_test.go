package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tensortap/tensortap/e2e/internal/program"
)

func TestShellsComplete(t *testing.T) {
	t.Parallel()
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		out := program.Run(t, program.Setting{}, "completion", shell)
		if out.Status != 0 || out.Stderr != "" || !strings.Contains(out.Stdout, "tensortap") {
			t.Errorf("completion %s: %.200s", shell, out)
		}
		path, err := exec.LookPath(shell)
		if err != nil || shell == "powershell" {
			continue
		}
		script := filepath.Join(t.TempDir(), "completion")
		if err := os.WriteFile(script, []byte(out.Stdout), 0o600); err != nil {
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
		if out := program.Run(t, program.Setting{}, strings.Split(typed, " ")...); out.Status != 0 || !strings.Contains(out.Stdout, want) {
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
		"report shapes --run a --limit abc":    `"abc" for "--limit" flag: want a whole number, 0 or more`,
		"report divergence --problem a --bench b --rank abc": `"abc" for "--rank" flag: want a whole number, -1 or more`,
		"report divergence --problem a --bench b --rank -5":  `"-5" for "--rank" flag: want a whole number, -1 or more`,
		"compare a b --rank -5":                              `"-5" for "--rank" flag: want a whole number, -1 or more`,
		"compare a b --steps=":                               `"" for "--steps" flag: want numbers and ranges`,
		"run --run= -- true":                                 `--run "": it has 0 characters, want 1 to 200`,
		"run --run " + strings.Repeat("x", 250) + " -- true": "it has 250 characters, want 1 to 200",
	} {
		out := program.Run(t, program.Setting{}, strings.Fields(line)...)
		if out.Status != 2 || out.Stdout != "" || !strings.HasPrefix(out.Stderr, "tensortap: ") || !strings.Contains(out.Stderr, want) {
			t.Errorf("%s: %v, want status 2 and %q", line, out, want)
		}
	}
	if out := program.Run(t, program.Setting{}); out.Status != 0 || !strings.Contains(out.Stdout, "Record:\n") {
		t.Errorf("no command: %v", out)
	}
}
