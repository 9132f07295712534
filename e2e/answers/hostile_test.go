package answers

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/tensortap/tensortap/e2e/internal/program"
	"github.com/tensortap/tensortap/internal/dev/recorded"
)

// hostileTexts are names that something on the way could misread.
func hostileTexts() []string {
	return []string{
		"名前 ü 🔥", `a'b"c\d`, "line\nbreak", "../../etc/passwd", "\x1b[31mred\x1b[0m", "%s {run:String} $(id)", "-x", " ", "tab\there",
		"a,b;c|d", "\u202eright to left", "null", strings.Repeat("x", 200), strings.Repeat("名", 200),
	}
}

func TestHostileNamesOfRunsComeThroughAndSpoilNothing(t *testing.T) {
	t.Parallel()
	u := program.StartUp(t, t.TempDir())
	dir := filepath.Join(recorded.Unpack(t, "D_tp_golden"), "step0")
	for _, name := range hostileTexts() {
		out := u.Publish(t, dir, name, "--label", strings.ReplaceAll(name, "=", "-")+"="+name)
		isPlain(t, "publish", out.Stdout+out.Stderr)
	}
	u.Settle(t)
	var runs struct {
		Rows []struct {
			Name   string
			Labels map[string]string
		}
	}
	out := program.Run(t, u.Setting, "runs", "--output", "json")
	if err := json.Unmarshal([]byte(out.Stdout), &runs); err != nil || len(runs.Rows) != len(hostileTexts()) {
		t.Fatalf("%d runs, want %d, %v in %v", len(runs.Rows), len(hostileTexts()), err, out)
	}
	for _, r := range runs.Rows {
		if !slices.Contains(hostileTexts(), r.Name) || r.Labels[r.Name] != r.Name {
			t.Errorf("run %q has labels %q", r.Name, r.Labels)
		}
	}
	isPlain(t, "runs", program.Run(t, u.Setting, "runs").Stdout)
	if lines := strings.Count(program.Run(t, u.Setting, "runs").Stdout, "\n"); lines != len(hostileTexts())+1 {
		t.Errorf("runs has %d lines", lines)
	}
	for sides := range slices.Chunk(hostileTexts(), 2) {
		ask := []string{"compare", "--", sides[0], sides[1]}
		if strings.Contains(sides[0]+sides[1], "/") { // which compare takes for a folder
			ask = []string{"report", "divergence", "--problem", sides[0], "--bench", sides[1]}
		}
		out := program.Run(t, u.Setting, ask...)
		if out.Status != 0 {
			t.Errorf("%q: %v", ask, out)
		}
		isPlain(t, ask[0], out.Stdout+out.Stderr)
		missing := program.Run(t, u.Setting, "compare", "--", sides[0]+"!", sides[1])
		if missing.Status != 2 {
			t.Errorf("compare %q: %v", sides[0]+"!", missing)
		}
		isPlain(t, "compare", missing.Stderr)
	}
	if _, err := os.Stat(filepath.Join(u.Data, "..", "..", "etc")); err == nil {
		t.Error("a name of a run became a path")
	}
}

// isPlain checks that a text does nothing to a terminal.
func isPlain(t *testing.T, what, text string) {
	t.Helper()
	for _, r := range text {
		if r != '\n' && !strconv.IsPrint(r) {
			t.Errorf("%s prints %q in %q", what, r, text)
			return
		}
	}
}

func TestNamesThatCannotBeAreRefused(t *testing.T) {
	t.Parallel()
	u := program.Shared(t)
	dir := recorded.Unpack(t, "B00_golden_L0")
	for name, want := range map[string]string{
		"":                       "1 to 200",
		strings.Repeat("x", 201): "1 to 200",
		strings.Repeat("名", 201): "1 to 200",
		"\xff\xfe":               "UTF-8",
	} {
		out := program.Run(t, u.Setting, "publish", "msprobe", dir, "--run", name)
		if out.Status != 2 || out.Stdout != "" || !strings.Contains(out.Stderr, want) {
			t.Errorf("publish --run %q: %v, want status 2 and %q", name, out, want)
		}
	}
	if out := program.Run(t, u.Setting, "publish", "msprobe", dir, "--run", "bad label", "--label", "a=\xff"); out.Status != 2 || !strings.Contains(out.Stderr, "UTF-8") {
		t.Errorf("publish --label: %v", out)
	}
	if rows := u.Query(t, "SELECT name FROM tap.runs WHERE name IN ('', 'bad label')"); len(rows) > 0 {
		t.Errorf("stored all the same: %v", rows)
	}
}

func TestFoldersOfAnyNameAreCompared(t *testing.T) {
	t.Parallel()
	recorded := recorded.Unpack(t, "B00_golden_L0")
	s := program.Setting{Dir: t.TempDir(), Env: []string{"TMPDIR=" + t.TempDir()}}
	names := []string{"with space", "it's", "-x", "line\nbreak\x1b[31m", strings.Repeat("deep/"+strings.Repeat("long", 50)+"/", 3), "no\xfftext"}
	for _, name := range names {
		if err := os.CopyFS(filepath.Join(s.Dir, name), os.DirFS(recorded)); err != nil {
			t.Fatal(err)
		}
	}
	for sides := range slices.Chunk(names, 2) {
		out := program.Run(t, s, "compare", "./"+sides[0], "./"+sides[1])
		if out.Status != 0 || out.Stderr != "" {
			t.Errorf("compare %q: %v", sides, out)
		}
		isPlain(t, "compare", out.Stdout)
	}
	program.LeavesNothing(t, s)
}

func TestHostileNamesOfOpsComeThroughExactly(t *testing.T) {
	t.Parallel()
	u := program.Shared(t)
	names := append(hostileTexts(), "pipe|and`tick`", strings.Repeat("long", 25_000))
	for i := range names {
		names[i] = "Functional." + names[i] + ".0.forward"
	}
	problem, bench := writeDump(t, names, 2.5), writeDump(t, names, 1.5)
	u.Publish(t, problem, "hostile ops")
	u.Publish(t, bench, "hostile ops bench")
	u.Settle(t)
	ask := []string{"compare", "hostile ops", "hostile ops bench", "--limit", "100"}
	out := program.Run(t, u.Setting, append(ask, "--output", "json")...)
	var ops []string
	for _, d := range parseAnswer(t, out).Divergence {
		ops = append(ops, d.Op)
	}
	if !slices.Equal(ops, names) {
		t.Errorf("got %d ops %.3000q, want %d %.3000q", len(ops), ops, len(names), names)
	}
	var fromCSV []string
	lines := program.ParseCSV(t, program.Run(t, u.Setting, append(ask, "--output", "csv")...).Stdout)
	for _, line := range lines[1:] {
		fromCSV = append(fromCSV, line[slices.Index(lines[0], "op")])
	}
	if !slices.Equal(fromCSV, names) {
		t.Errorf("CSV has %d ops %.3000q", len(fromCSV), fromCSV)
	}
	for _, args := range [][]string{
		ask,
		{"report", "divergence", "--problem", "hostile ops", "--bench", "hostile ops bench", "--limit", "100"},
		{"query", "SELECT name FROM tap.ops WHERE startsWith(name, 'Functional.long')"},
	} {
		text := program.Run(t, u.Setting, args...)
		isPlain(t, args[0], text.Stdout+text.Stderr)
		for line := range strings.Lines(text.Stdout) {
			if len([]rune(line)) > 3000 {
				t.Errorf("%s prints a line of %d characters", args[0], len([]rune(line)))
			}
		}
	}
}

// writeDump writes a dump of ops with one output each, whose maximum is given.
func writeDump(tb testing.TB, names []string, greatest float64) string {
	tb.Helper()
	dir := filepath.Join(tb.TempDir(), "step0", "rank0")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		tb.Fatal(err)
	}
	var data []string
	for _, name := range names {
		key, err := json.Marshal(name)
		if err != nil {
			tb.Fatal(err)
		}
		data = append(data, fmt.Sprintf(`%s: {"input_args": [], "input_kwargs": {}, "output": [{"type": "torch.Tensor", "dtype": "torch.float32", "shape": [2],
			"Max": %g, "Min": 0.5, "Mean": 1.0, "Norm": 2.0, "requires_grad": false}]}`, key, greatest))
	}
	text := fmt.Sprintf(`{"task": "statistics", "level": "L1", "framework": "pytorch", "dump_data_dir": null, "data": {%s}}`, strings.Join(data, ",\n"))
	if err := os.WriteFile(filepath.Join(dir, "dump.json"), []byte(text), 0o600); err != nil {
		tb.Fatal(err)
	}
	return filepath.Dir(filepath.Dir(dir))
}
