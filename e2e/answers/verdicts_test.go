package answers

import (
	"strings"
	"testing"

	"github.com/tensortap/tensortap/e2e/internal/program"
)

// verdictsOf counts what is stored of a comparison: declarations, units of steps, rows that do not agree, and those of
// them that make the runs differ; of the first two also how often they lie in the tables.
const verdictsOf = `SELECT
    (SELECT count() FROM tap.declared_comparisons WHERE problem = 'PROBLEM'),
    (SELECT count() FROM tap.judged_steps WHERE comparison_id IN (SELECT comparison_id FROM tap.declared_comparisons WHERE problem = 'PROBLEM')),
    (SELECT count() FROM tap_store.judged_step WHERE comparison_id IN (SELECT comparison_id FROM tap.declared_comparisons WHERE problem = 'PROBLEM')),
    (SELECT countIf(differs = 1) FROM tap.divergences WHERE comparison_id IN (SELECT comparison_id FROM tap.declared_comparisons WHERE problem = 'PROBLEM'))`

func TestVerdictsAreStoredOnceHoweverOftenTheyAreAskedFor(t *testing.T) {
	t.Parallel()
	u := program.PublishOnce(t, "D_ddp_rank1_weight", "D_ddp_golden")
	compare := func(args ...string) {
		t.Helper()
		out := program.Run(t, u.Setting, append([]string{"compare", "D_ddp_rank1_weight", "D_ddp_golden", "--strict"}, args...)...)
		if out.Status != 1 {
			t.Fatalf("compare: %v", out)
		}
	}
	stored := func() string {
		t.Helper()
		u.Settle(t)
		return strings.Join(u.Query(t, strings.ReplaceAll(verdictsOf, "PROBLEM", "D_ddp_rank1_weight"))[0], " ")
	}
	compare("--rank", "1")
	if got := stored(); !strings.HasPrefix(got, "1 1 1 ") {
		t.Errorf("after one rank: %s, want one comparison with one step", got)
	}
	compare()
	first := stored()
	if !strings.HasPrefix(first, "1 2 2 ") || strings.HasSuffix(first, " 0") {
		t.Errorf("after both ranks: %s, want one comparison with two steps, each stored once, and rows that differ", first)
	}
	compare()
	if again := stored(); again != first {
		t.Errorf("asked again: %s, want %s", again, first)
	}
}
