package collector

import (
	"encoding/csv"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tensortap/tensortap/e2e/internal/program"
	"github.com/tensortap/tensortap/e2e/internal/torch"
)

// TestDriftOfLogProbabilitiesIsNamedByStepAndCause runs a loop of reinforcement learning with a rollout of its own, right and with
// each of eight faults, and the commands that docs/logprobs.md and docs/cross.md show.
func TestDriftOfLogProbabilitiesIsNamedByStepAndCause(t *testing.T) {
	t.Parallel()
	torch.Python(t)
	pager := program.NewPager(t)
	u := program.StartUp(t, t.TempDir(), "--alerts", pager.Config)
	for _, fault := range []string{"right", "unsynchronised"} {
		requireSaid(t, u.Setting, "baseline set "+fault+" --run trainer-"+fault+" --match loop="+fault, "is set")
	}
	root := filepath.Join(u.Data, "spool")
	// What each step says: verdict, cause, place.
	wants := map[string][]string{
		"right":          slices.Repeat([]string{"flat||"}, 4),
		"unsynchronised": {"flat||", "flat||", "drifts|weights|blocks.0.attention.joined.bias", "flat||"},
		"positions":      slices.Repeat([]string{"drifts|prefix cache|attention"}, 4),
		"temperature":    slices.Repeat([]string{"drifts|temperature|logits"}, 4),
		"router":         slices.Repeat([]string{"drifts|precision|blocks.0.router"}, 4),
		"adapter":        append([]string{"flat||"}, slices.Repeat([]string{"drifts|adapter|blocks.0.attention.out"}, 3)...),
		"stale":          append([]string{"flat||"}, slices.Repeat([]string{"drifts|stale cache|attention"}, 3)...),
		"template":       slices.Repeat([]string{"nothing pairs|chat template|"}, 4),
		"top-k":          slices.Repeat([]string{"drifts|renormalised|logits"}, 4),
	}
	loop := append([]string{filepath.Join("..", "..", "e2e", "collector", "testdata", "rl_loop.py")}, keysOf(wants)...)
	if out, err := torch.Collecting(t, root, loop...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	program.Served(t, root)
	u.Settle(t)
	for fault, want := range wants {
		if got := judgedSteps(t, u, "rollout-"+fault, "trainer-"+fault); !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", fault, got, want)
		}
	}
	requireTold(t, u, pager)
	requireTraps(t, wants)
	for _, command := range slices.Concat(shownCommands(t, "logprobs.md", "## What drifts, and why\n"), shownCommands(t, "cross.md", trapsOfRollouts)) {
		requireSaid(t, u.Setting, command)
	}
}

// requireTold wants the drift of the rollout that missed an update to be told once, by its step, and no other, whether the last
// step was stored by then or not. The command of the alert names the cause.
func requireTold(t *testing.T, u *program.Up, pager *program.Pager) {
	t.Helper()
	const rule = "logprob-drift"
	pager.Await(t, "firing "+rule+" rollout-unsynchronised")
	requireSaid(t, u.Setting, "alert test "+rule+" --config "+pager.Config, "1 would fire now")
	var summaries []string
	for _, alert := range pager.Alerts(t) {
		if alert.Rule == rule && alert.State == "firing" {
			summaries = append(summaries, alert.Summary)
			requireSaid(t, u.Setting, strings.TrimPrefix(alert.Command, "tensortap "), "checksums of 21 of 21 parameters differ")
		}
	}
	if len(summaries) != 1 || !strings.HasPrefix(summaries[0], "log-probabilities of run rollout-unsynchronised drift from trainer-unsynchronised since step 2: 1 of the last ") {
		t.Errorf("told %q", summaries)
	}
}

const trapsOfRollouts = "## Traps of a rollout and its trainer\n"

// requireTraps holds the page's table of faults against what the first step of each that drifts says.
func requireTraps(t *testing.T, wants map[string][]string) {
	t.Helper()
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "cross.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), trapsOfRollouts)
	for fault, steps := range wants {
		at := slices.IndexFunc(steps, func(step string) bool { return step != "flat||" })
		if at < 0 {
			continue
		}
		_, said, _ := strings.Cut(steps[at], "|")
		cause, place, _ := strings.Cut(said, "|")
		_, row, _ := strings.Cut(section, "| `"+fault+"` |")
		if row, _, _ = strings.Cut(row, "\n"); !strings.HasSuffix(row, " | "+cause+" | "+place+" |") {
			t.Errorf("docs/cross.md does not say of fault %s that its cause is %q and its place %q: %q", fault, cause, place, row)
		}
	}
}

func keysOf(wants map[string][]string) []string {
	var keys []string
	for key := range wants {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

// judgedSteps are verdict, cause and the first place of each step. Each has all tokens of both runs.
func judgedSteps(t *testing.T, u *program.Up, problem, bench string) (steps []string) {
	t.Helper()
	out := program.Run(t, u.Setting, "report", "logprobs", "--problem", problem, "--bench", bench, "--output", "csv")
	rows, err := csv.NewReader(strings.NewReader(out.Stdout)).ReadAll()
	if err != nil || len(rows) < 2 {
		t.Fatalf("%s: %v", out, err)
	}
	column := func(row []string, name string) string { return row[slices.Index(rows[0], name)] }
	for _, row := range rows[1:] {
		paired, alone := "64", "0"
		if column(row, "verdict") == "nothing pairs" {
			paired, alone = "0", "128"
		}
		if column(row, "paired_count") != paired || column(row, "alone_count") != alone {
			t.Errorf("%s: %q pairs %s tokens, and not %s; want %s and %s", problem, row, column(row, "paired_count"), column(row, "alone_count"), paired, alone)
		}
		place, _, _ := strings.Cut(column(row, "place"), ", ")
		steps = append(steps, strings.Join([]string{column(row, "verdict"), column(row, "cause"), place}, "|"))
	}
	return steps
}
