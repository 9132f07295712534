package report

import (
	"strings"
	"testing"
)

// oneOrigin is what the report origin answers of an op.
func oneOrigin(op string) Table {
	return Table{Columns: []string{"op", "step", "rank"}, Rows: [][]Value{{{Exact: op}, {Exact: "3"}, {Exact: "0"}}}}
}

func TestTheNextCommandFitsTheVerdict(t *testing.T) {
	t.Parallel()
	alone := counted("only_problem_count")
	for name, c := range map[string]struct {
		Comparison

		want, without string
	}{
		"a name that a shell would take apart": {
			Comparison{Verdict: Differs, Stored: true, ProblemArgument: "'run 1'", BenchArgument: "good", Origins: oneOrigin("Module.a b.$x.forward.0")},
			"--problem 'run 1' --bench good --op 'Module.a b.$x.forward.0'\n", "level mix",
		},
		"a dump that is garbage": {
			Comparison{Verdict: Unknown, WarningCount: 1, Summary: alone}, "next         put right what the warnings name", "tensortap compare",
		},
		"tokens and nothing else": {
			Comparison{Verdict: Unknown, Tokens: TokenRows{Places: true}, Summary: summed()}, "both have tokens, which are compared by themselves\nnext ", "only in the problem",
		},
		"a loss that is the same, and tokens": {
			Comparison{Verdict: Same, Tokens: TokenRows{Places: true}, Summary: counted("paired_count", "measured_count", "within_count")}, "of tensors alone: both runs have tokens", "UNKNOWN",
		},
		"the same, by digests": {Comparison{Verdict: Same, Summary: counted("proved_equal_count")}, "SAME", "next"},
	} {
		c.Benches = []string{"good"}
		var text strings.Builder
		if err := c.WriteNote(&text, Style{}); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(text.String(), c.want) || strings.Contains(text.String(), c.without) {
			t.Errorf("%s: want %q and no %q in\n%s", name, c.want, c.without, text.String())
		}
	}
}

func TestTheEndOfAWatchTellsTheStepOfTheDivergence(t *testing.T) {
	t.Parallel()
	step := int64(30)
	for want, e := range map[string]WatchEvent{
		"DIFFERS at step 30, 1 step judged as a whole":  {Event: "end", State: "differs", Step: &step, Steps: 1},
		"DIFFERS at step 30, 0 steps judged as a whole": {Event: "end", State: "differs", Step: &step},
		"SAME after 7 steps":                            {Event: "end", State: "same", Steps: 7},
	} {
		if got := e.String(); got != want {
			t.Errorf("%+v is %q, want %q", e, got, want)
		}
	}
}
