package collector

import (
	"encoding/csv"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/tensortap/tensortap/e2e/internal/program"
	"github.com/tensortap/tensortap/e2e/internal/torch"
	"github.com/tensortap/tensortap/internal/dev/recorded"
)

// TestTokensPairByPromptAndPositionWhateverTheBatch reads three sequences in one batch, and each alone with a cache of keys and values:
// right, with positions off by one behind the prompt, and with a weight of the second layer scaled; and with single tokens in bfloat16, which
// is the noise of that program.
func TestTokensPairByPromptAndPositionWhateverTheBatch(t *testing.T) {
	t.Parallel()
	torch.Python(t)
	u := program.StartUp(t, t.TempDir())
	root := filepath.Join(u.Data, "spool")
	script := filepath.Join("..", "..", "e2e", "collector", "testdata", "token_rows.py")
	if out, err := torch.Collecting(t, root, script, "batch", "cached", "shifted", "scaled", "whole", "alone", "rough-cached", "rough-chunked", "rough-scaled").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	program.Served(t, root)
	u.Publish(t, recorded.Unpack(t, "A_llama_mix_md5"), "no tokens")
	u.Settle(t)
	same := []string{
		"0 embedding same ", "1 attention same ", "1 router same ", "1 residual stream same ",
		"2 attention same ", "2 router same ", "2 residual stream same ", "3 logits same ",
	}
	for _, want := range []struct {
		problem, bench string
		calibrate      string
		began          []string // where tokens begin to differ, and the first of them
	}{
		{"cached", "batch", "", nil},
		{"alone", "whole", "", nil},
		{"shifted", "batch", "", []string{"1 attention begins 6"}},
		{"scaled", "batch", "", []string{"2 residual stream begins 0"}},
		{"rough-chunked", "batch", "", []string{"1 attention begins 10"}},
		{"rough-chunked", "batch", "rough-cached", nil},
		{"rough-scaled", "batch", "rough-cached", []string{"2 residual stream begins "}},
	} {
		requireTokenVerdict(t, u, min(1, len(want.began)), want.problem, want.bench, "--calibrate", want.calibrate)
		got := tokenPlaces(t, u, want.problem, want.bench, want.calibrate)
		if want.began == nil {
			if !slices.Equal(got, same) {
				t.Errorf("%s against %s: got %q, want %q", want.problem, want.bench, got, same)
			}
			continue
		}
		at := slices.IndexFunc(got, func(place string) bool { return !strings.HasSuffix(place, " same ") })
		if at < 0 || got[at] != want.began[0] {
			t.Errorf("%s against %s: got %q, want the first that differs to be %q", want.problem, want.bench, got, want.began[0])
		}
	}
	out := program.Run(t, u.Setting, "report", "tokens", "--problem", "cached", "--bench", "batch", "--calibrate", "nobody")
	if !strings.Contains(out.Stderr, `--calibrate: no run is named "nobody"`) {
		t.Errorf("a calibration that is not stored: %v", out)
	}
	requireTokenTables(t, u)
	requireTokensAdvised(t, u)
	requireTokensRefused(t, u)
	for _, command := range shownCommands(t, "cross.md", "## Token by token\n") {
		if out := program.Run(t, u.Setting, wordsOf(command)...); out.Status > 1 || !hasLine(t, "cross.md", "began", out.Stdout) || !hasLine(t, "cross.md", "tolerance", out.Stdout) {
			t.Errorf("tensortap %s: %v, want what docs/cross.md says", command, out)
		}
	}
}

// hasLine says whether a page has the line of an answer that begins with a word, or the answer has none.
func hasLine(t *testing.T, page, begin, answer string) bool {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", page)) //nolint:gosec // of this repository
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(answer) {
		if strings.HasPrefix(line, begin+" ") {
			return strings.Contains(string(text), "\n"+line)
		}
	}
	return true
}

// tokenPlaces are layer, site, verdict and the position of the first token that begins to differ there, of each place. All tokens pair.
func tokenPlaces(t *testing.T, u *program.Up, problem, bench, calibrate string) (places []string) {
	t.Helper()
	out := program.Run(t, u.Setting, "report", "tokens", "--problem", problem, "--bench", bench, "--calibrate", calibrate, "--output", "csv")
	rows, err := csv.NewReader(strings.NewReader(out.Stdout)).ReadAll()
	if err != nil || len(rows) < 2 {
		t.Fatalf("%s: %v", out, err)
	}
	column := func(row []string, name string) string { return row[slices.Index(rows[0], name)] }
	for _, row := range rows[1:] {
		if column(row, "paired_count") != "42" || column(row, "alone_count") != "0" {
			t.Errorf("%s: %q pairs %s tokens, and not %s; want 42 and 0", problem, row, column(row, "paired_count"), column(row, "alone_count"))
		}
		places = append(places, strings.Join([]string{column(row, "layer"), column(row, "site"), column(row, "verdict"), column(row, "first_position")}, " "))
	}
	return places
}

// requireTokenVerdict checks that compare --by token says whether any token differs, by its exit status and by its answer.
func requireTokenVerdict(t *testing.T, u *program.Up, status int, arguments ...string) {
	t.Helper()
	want := []string{"same", "differs"}[status]
	out := program.Run(t, u.Setting, append([]string{"compare", "--by", "token", "--output", "json"}, arguments...)...)
	var said struct {
		Verdict string `json:"verdict"`
		Places  []any  `json:"places"`
	}
	if err := json.Unmarshal([]byte(out.Stdout), &said); err != nil || out.Status != status || said.Verdict != want || len(said.Places) != 8 {
		t.Errorf("compare --by token %q: %v %v, want %s", arguments, err, out, want)
	}
}

// requireTokenTables wants the table of places to be that of the report.
func requireTokenTables(t *testing.T, u *program.Up) {
	t.Helper()
	got := program.Run(t, u.Setting, "compare", "shifted", "batch", "--by", "token", "--output", "csv")
	want := program.Run(t, u.Setting, "report", "tokens", "--problem", "shifted", "--bench", "batch", "--output", "csv")
	if got.Status != program.ExitDiffers || want.Status != program.ExitSame || got.Stdout != want.Stdout {
		t.Errorf("compare --by token: %v\nwant what the report has: %v", got, want)
	}
	for _, format := range []string{"arrow", "parquet"} {
		out := program.Run(t, u.Setting, "compare", "shifted", "batch", "--by", "token", "--output", format)
		if out.Status != program.ExitDiffers || !strings.Contains(out.Stdout, "residual stream") {
			t.Errorf("compare --by token --output %s: %v", format, out)
		}
	}
}

// requireTokensAdvised asks for a comparison of tensors, of which runs of level tokens have none.
func requireTokensAdvised(t *testing.T, u *program.Up) {
	t.Helper()
	out := program.Run(t, u.Setting, "compare", "shifted", "batch")
	advice := regexp.MustCompile(`(?m)^next .* tokens pair by prompt, sample and position: \S+ (compare shifted batch --by token)$`).FindStringSubmatch(out.Stdout)
	if out.Status != program.ExitError || advice == nil || strings.Contains(out.Stdout, "\ncompared ") {
		t.Fatalf("a comparison of runs that have tokens alone: %v", out)
	}
	if out := program.Run(t, u.Setting, strings.Fields(advice[1])...); out.Status != program.ExitDiffers {
		t.Errorf("tensortap %s, as was advised: %v", advice[1], out)
	}
}

// requireTokensRefused asks for what has no answer token by token.
func requireTokensRefused(t *testing.T, u *program.Up) {
	t.Helper()
	for _, c := range []struct {
		arguments []string
		want      string
	}{
		{[]string{"cached", "nobody"}, `no run is named "nobody"`},
		{[]string{"cached", "batch", "alone"}, "compares a problem with one bench, 3 runs are given"},
		{[]string{t.TempDir() + "/", "batch"}, "compares stored runs"},
		{[]string{"cached", "batch", "--calibrate", "batch"}, "calibrate with batch: it is compared itself"},
		{[]string{"cached", "batch", "--calibrate", "no tokens"}, "none of its tokens has prompt, sample, position and place"},
		{[]string{"cached", "batch", "--rank", "0"}, "--rank does not go with --by token"},
		{[]string{"cached", "batch", "--limit", "5"}, "--limit does not go with --by token"},
		{[]string{"cached", "batch", "--tolerance", "rules.yaml"}, "with --by token it is a number"},
		{[]string{"cached", "batch", "--tolerance", "nan"}, "with --by token it is a number from 0 on"},
		{[]string{"no tokens", "batch"}, "no token of both runs has the same prompt"},
		{[]string{"no tokens", "no tokens"}, "record both with --level tokens"},
	} {
		out := program.Run(t, u.Setting, append([]string{"compare", "--by", "token"}, c.arguments...)...)
		if out.Status != 2 || !strings.Contains(out.Stdout+out.Stderr, c.want) {
			t.Errorf("compare --by token %q: want status 2 and %q, got %v", c.arguments, c.want, out)
		}
	}
}
