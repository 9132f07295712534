package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tensortap/tensortap/e2e/internal/program"
	"github.com/tensortap/tensortap/internal/dev/recorded"
)

func TestTextShowsTheColumnsThatAPersonNeeds(t *testing.T) {
	t.Parallel()
	u := program.PublishOnce(t, "B02_weight_mix", "B00_golden_mix")
	divergence := []string{"report", "divergence", "--problem", "B02_weight_mix", "--bench", "B00_golden_mix", "--steps", "0"}
	const shown = "rank step op module role path verdict error tolerance evidence"
	for _, c := range []struct {
		args  []string
		first string // words of the first line
		lines int
	}{
		{append(divergence, "--limit", "3"), shown, 5},
		{append(divergence, "--limit", "3", "--columns", "op,error"), "op error", 5},
		{append(divergence, "--limit", "2", "--columns", "op,error", "-o", "csv"), "op,error", 3},
		{append(divergence, "--limit", "1", "--columns", "op,error", "--vertical"), "row 1", 4},
		{[]string{"report", "run-differences", "--problem", "B02_weight_mix", "--bench", "B00_golden_mix", "--limit", "0"}, "property problem bench effect", -1},
		{[]string{"report", "layers", "--problem", "B02_weight_mix", "--bench", "B00_golden_mix", "--limit", "2"}, "step direction layer_index layer paired_count differing_count not_finite_count greatest_error", 4},
		{[]string{"query", "SELECT rank, step, op FROM tap.tensors ORDER BY rank, step, seq", "--limit", "2", "--columns", "op,step"}, "op step", 4},
		{[]string{"runs", "--columns", "name,status"}, "name status", -1},
		{[]string{"runs", "--columns", "name", "--limit", "1"}, "name", 3},
		{append(divergence, "--limit", "0", "-o", "csv", "--columns", "op"), "op", 783},
		{[]string{"report", "pairing", "--problem", "B02_weight_mix", "--bench", "B00_golden_mix", "--limit", "2", "--columns", "problem_op"}, "problem_op", 4},
	} {
		out := program.Run(t, u.Setting, c.args...)
		lines := strings.Split(strings.TrimSuffix(out.Stdout, "\n"), "\n")
		if got := strings.Join(strings.Fields(lines[0]), " "); out.Status != 0 || got != c.first || c.lines >= 0 && len(lines) != c.lines {
			t.Errorf("%q: status %d, %d lines, the first %q, want %d and %q\n%s", c.args, out.Status, len(lines), got, c.lines, c.first, out.Stderr)
		}
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{append(divergence, "--columns", "opp"), `no column is named "opp"; there are: rank, step, `},
		{append(divergence, "--columns", "op", "-o", "parquet"), "--output parquet has all columns"},
		{append(divergence, "--vertical", "-o", "csv"), "--vertical is a form of --output text"},
		{append(divergence[:6:6], "--steps", "0,2"), "--steps 0,2: want one range"},
	} {
		if out := program.Run(t, u.Setting, c.args...); out.Status != program.ExitError || !strings.Contains(out.Stderr, c.want) {
			t.Errorf("%q: %v, want status 2 and %q", c.args, out, c.want)
		}
	}
	all := program.Run(t, u.Setting, append(divergence, "--limit", "1", "--columns", "all")...)
	csv := program.Run(t, u.Setting, append(divergence, "--limit", "1", "-o", "csv")...)
	header, _, _ := strings.Cut(csv.Stdout, "\n")
	if columns := strings.Fields(strings.SplitN(all.Stdout, "\n", 2)[0]); strings.Join(columns, ",") != header || len(columns) < 30 {
		t.Errorf("--columns all shows %q, want %q", columns, header)
	}
}

// TestExamplesOfQueryFindSomething runs those of its help, right after something was published.
func TestExamplesOfQueryFindSomething(t *testing.T) {
	t.Parallel()
	u := program.Shared(t)
	u.Publish(t, recorded.Unpack(t, "B00_golden_mix"), "just published")
	if rows := u.Query(t, "SELECT count() FROM tap.steps WHERE run = 'just published'"); len(rows) != 1 || rows[0][0] != "2" {
		t.Errorf("steps of what was published just before: %v, want 2", rows)
	}
	help := program.Run(t, u.Setting, "query", "--help")
	_, examples, _ := strings.Cut(help.Stdout, "Examples:\n")
	examples, _, _ = strings.Cut(examples, "\n\n")
	for line := range strings.Lines(examples) {
		words := strings.Split(strings.TrimSpace(line), "'")
		args := append([]string{"query", words[1]}, strings.Fields(words[2])...)
		if out := program.Run(t, u.Setting, args...); out.Status != 0 || strings.Count(out.Stdout, "\n") < 2 {
			t.Errorf("%s: %v, want rows", strings.TrimSpace(line), out)
		}
	}
}

func TestTheNextCommandBeginsAsThisOneDid(t *testing.T) {
	t.Parallel()
	s := program.Setting{Dir: t.TempDir()}
	for _, name := range []string{"B02_weight_mix", "B00_golden_mix"} {
		if err := recorded.Extract(filepath.Join(recorded.Dumps(), name+".tar.gz"), s.Dir); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(program.Path(t), filepath.Join(s.Dir, "tap here")); err != nil {
		t.Fatal(err)
	}
	cmd := program.Command(t, s, "compare", "B02_weight_mix/dump/step0", "B00_golden_mix/dump/step0", "--data", "./kept")
	cmd.Args[0] = "./tap here"
	var stdout bytes.Buffer
	cmd.Stdout = &stdout
	_ = cmd.Run() // it differs
	const want = "\nnext         './tap here' --data ./kept explain --problem B02_weight_mix/dump/step0 --bench B00_golden_mix/dump/step0 --op Functional.linear.20.forward\n"
	if !strings.Contains(stdout.String(), want) {
		t.Errorf("no %q in\n%s", want, stdout.String())
	}
}
