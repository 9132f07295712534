package conditions_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/tensortap/tensortap/internal/conditions"
)

// TestATextIsReadAsByTheCollector has the table that the collector's tests read, too.
func TestATextIsReadAsByTheCollector(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../producers/torch/tests/testdata/conditions.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct{ Text, Means, Error string }
	if err := json.Unmarshal(text, &cases); err != nil {
		t.Fatal(err)
	}
	if len(cases) < 40 {
		t.Fatalf("only %d cases", len(cases))
	}
	for _, c := range cases {
		w, err := conditions.Parse(c.Text)
		switch {
		case c.Error != "" && (err == nil || err.Error() != c.Error):
			t.Errorf("Parse(%q) = %v, want the error %q", c.Text, err, c.Error)
		case c.Error == "" && (err != nil || w.String() != c.Means):
			t.Errorf("Parse(%q) = %q, %v, want %q", c.Text, w, err, c.Means)
		}
	}
}

func TestSeveralTextsHoldTogether(t *testing.T) {
	t.Parallel()
	w, err := conditions.ParseAll([]string{"step=1 or step=2", "loss>3"})
	if err != nil || w.String() != "step=1, loss>3 or step=2, loss>3" {
		t.Errorf("%q, %v", w, err)
	}
	many := strings.Split(strings.Repeat("step=1 or step=2;", 7), ";")[:7]
	if _, err := conditions.ParseAll(many); err == nil || err.Error() != "more than 64 alternatives" {
		t.Errorf("of 128 alternatives: %v", err)
	}
	if w, err := conditions.ParseAll(nil); err != nil || !w.IsAlways() || w.String() != "" {
		t.Errorf("of none: %q, %v", w, err)
	}
}

func TestADifferenceIsTakenOut(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{"difference": "", "phase=decode, difference": "phase=decode", "difference, step=1 or difference, step=2": "step=1 or step=2"} {
		w, err := conditions.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if rest, asked, err := w.WithoutDifference(); rest.String() != want || !asked || err != nil {
			t.Errorf("%q: %q, %v, %v, want %q", text, rest, asked, err, want)
		}
	}
	w, err := conditions.Parse("difference or step=1")
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := w.WithoutDifference(); err == nil {
		t.Error("a difference in one alternative of two is taken out")
	}
}

func TestShortFormsAreAlternatives(t *testing.T) {
	t.Parallel()
	w := conditions.OneOf(conditions.Condition{Word: "request", Values: []string{"a", "b c"}}, conditions.Condition{Word: "prompt-hash"},
		conditions.Condition{Word: "prompt", Values: []string{`say "no"`}})
	if want := `request=a|"b c" or prompt="say \"no\""`; w.String() != want {
		t.Errorf("%s, want %s", w, want)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(`request=a|"b\"" and phase=decode or memory>1.5GiB`)
	f.Fuzz(func(t *testing.T, text string) {
		w, err := conditions.Parse(text)
		if err != nil {
			return
		}
		again, err := conditions.Parse(w.String())
		if err != nil || again.String() != w.String() {
			t.Errorf("%q is written %q, which reads %q, %v", text, w, again, err)
		}
	})
}
