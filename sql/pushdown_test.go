package sql_test

import (
	"strings"
	"testing"
)

// A database keeps the judgings of years: who asks for one comparison must not wait for all of them.
func TestViewsOfVerdictsReadTheComparisonThatIsAskedForAlone(t *testing.T) {
	t.Parallel()
	d := startDatabase(t)
	d.Query(t, "INSERT INTO tap_store.judged_step (comparison_id, rank, differing_count) SELECT intDiv(number, 10), number % 10, 1 FROM numbers(100000)", "", nil)
	for _, view := range []string{"kept_judgings", "judged_steps", "divergences", "layer_errors", "origins"} {
		for _, condition := range []string{"comparison_id = 7", "comparison_id = (SELECT comparison_id FROM tap.wanted_comparison(problem = '', bench = '', comparison = ''))"} {
			d.Query(t, "SELECT * FROM tap."+view+" WHERE "+condition+" SETTINGS max_rows_to_read = 50000", "", nil) // else it fails
		}
	}
}

// The alert role asks every run again and again whether it holds NaN.
func TestARunThatIsFiniteIsNotReadForNaN(t *testing.T) {
	t.Parallel()
	d := startDatabase(t)
	d.fillTwoRuns(t, 100_000)
	for _, view := range []string{"overflows(run = 'problem', rank = -1, first_step = 0, last_step = -1)", "nan_tensors"} {
		if got := d.Query(t, "SELECT count() FROM tap."+view+" SETTINGS max_rows_to_read = 50000", "", nil); strings.TrimSpace(got) != "0" {
			t.Errorf("tap.%s has %s rows, want none", view, got)
		}
	}
}
