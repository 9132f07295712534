package report

import (
	"strings"
	"testing"
)

func TestNoteSaysWhatWasNotObservedBeforeTheOrigin(t *testing.T) {
	t.Parallel()
	c := Comparison{Problem: "bad", Benches: []string{"good"}, Verdict: Differs}
	c.Origins = tableOf([]string{"step", "rank", "op", "kind", "at_or_before", "unseen"}, "3", "0", "linear", "unseen_input", "true", "problem: compiled model.layers 4 times")
	var text strings.Builder
	if err := c.WriteNote(&text, Style{}); err != nil {
		t.Fatal(err)
	}
	said := strings.Index(text.String(), "not observed problem: compiled model.layers 4 times\n")
	began := strings.Index(text.String(), "began at     step 3, rank 0, op linear, or before it\n")
	if said < 0 || began < said || !strings.Contains(text.String(), "input of unseen origin, ") {
		t.Errorf("the note does not say first what was not observed:\n%s", text.String())
	}
}

func TestNoteNamesTheJumpBesideTheFirstDifference(t *testing.T) {
	t.Parallel()
	c := Comparison{Problem: "bad", Benches: []string{"good"}, Verdict: Differs}
	c.Jumps = tableOf([]string{"step", "rank", "op", "role", "path", "verdict", "evidence", "error", "noise_before"}, "3", "0", "linear", "output", "0", "diverged", "payload", "0.5", "3e-06")
	var text strings.Builder
	if err := c.WriteNote(&text, Style{}); err != nil {
		t.Fatal(err)
	}
	want := "jumps at     step 3, rank 0, op linear\n             output 0: relative error 0.5 (by payload); until then at most 3e-06, which may be noise\n"
	if !strings.Contains(text.String(), want) {
		t.Errorf("the note lacks\n%s:\n%s", want, text.String())
	}
}

func TestNoteNamesAParameterOnce(t *testing.T) {
	t.Parallel()
	columns := []string{"step", "rank", "op", "kind", "parameter", "role", "path", "verdict", "evidence", "error"}
	for want, row := range map[string][]string{
		"parameter weight: ":          {"0", "0", "Module.down", "parameter", "", "parameter", "weight", "diverged", "statistics", "0.5"},
		"parameter weight, input 1: ": {"0", "0", "linear", "parameter", "weight", "input", "1", "diverged", "statistics", "0.5"},
	} {
		c := Comparison{Problem: "bad", Benches: []string{"good"}, Verdict: Differs}
		c.Origins = tableOf(columns, row...)
		var text strings.Builder
		if err := c.WriteNote(&text, Style{}); err != nil || !strings.Contains(text.String(), "             "+want) {
			t.Errorf("%v: the note lacks %q:\n%s", err, want, text.String())
		}
	}
}

// tableOf is a table of one row of texts.
func tableOf(columns []string, values ...string) Table {
	row := make([]Value, len(values))
	for i, v := range values {
		row[i] = textValue(v)
	}
	return Table{Columns: columns, Rows: [][]Value{row}, numeric: make([]bool, len(columns))}
}
