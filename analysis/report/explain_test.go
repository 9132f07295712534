package report

import (
	"strings"
	"testing"
)

func TestAnOpThatOneRunAloneHasIsNotSaidToBeTheSame(t *testing.T) {
	t.Parallel()
	for by, want := range map[string]string{
		"only_problem": "only the problem has it", "only_bench": "only the bench has it", "id": "nothing that it took or gave differs",
	} {
		e := Explanation{Op: "f", Problem: "bad", Bench: "good", Rows: Table{Columns: []string{"paired_by", "differs"}, Rows: [][]Value{{textValue(by), textValue("false")}}}}
		var text strings.Builder
		if err := e.WriteNote(&text, Style{}); err != nil || !strings.Contains(text.String(), "judged       "+want) {
			t.Errorf("%s: %v\n%s\nwant %q", by, err, text.String(), want)
		}
	}
}
