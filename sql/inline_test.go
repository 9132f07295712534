package sql_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/tensortap/tensortap/sql"
)

func TestInlineLeavesNoView(t *testing.T) {
	t.Parallel()
	for _, object := range allObjects(t) {
		text, err := sql.Inline(object.Query, nil)
		if err != nil {
			t.Errorf("Inline(%s): %v", object.View(), err)
		}
		for _, p := range object.Parameters {
			text = strings.ReplaceAll(text, "{"+p.Name+":"+p.Type+"}", "")
		}
		if left := regexp.MustCompile(`\{\w+:.*`).FindString(text); left != "" {
			t.Errorf("Inline(%s) has a parameter that the object does not: %.60s", object.View(), left)
		}
		if left := regexp.MustCompile(`\btap\.\w+`).FindString(text); left != "" {
			t.Errorf("Inline(%s) still reads %s", object.View(), left)
		}
		if strings.Count(text, "(") != strings.Count(text, ")") {
			t.Errorf("Inline(%s) has brackets that do not close", object.View())
		}
	}
}

func TestInlineReadsATableThatHoldsTheAnswer(t *testing.T) {
	t.Parallel()
	const query = `SELECT count() FROM tap.meetings(run = {run:String}, first_step = least(1, 2), last_step = 3) AS p`
	got, err := sql.Inline(query, map[string]string{"meetings": "made"})
	if want := `SELECT count() FROM made AS p`; err != nil || got != want {
		t.Errorf("Inline = %s, %v, want %s", got, err, want)
	}
	got, err = sql.Inline(query, nil)
	if err != nil || !strings.Contains(got, "CAST(least(1, 2) AS Int64)") || strings.Contains(got, "tap.meetings") {
		t.Errorf("Inline = %s, %v, want the view's text with its arguments", got, err)
	}
}

func TestInlineNamesAViewThatHasNoOtherName(t *testing.T) {
	t.Parallel()
	for query, want := range map[string]string{
		"SELECT ops.name FROM tap.ops WHERE 1":    "SELECT ops.name FROM made AS ops WHERE 1",
		"SELECT o.name FROM tap.ops AS o WHERE 1": "SELECT o.name FROM made AS o WHERE 1",
		"SELECT 1 IN (SELECT name FROM tap.ops)":  "SELECT 1 IN (SELECT name FROM made AS ops)",
	} {
		if got, err := sql.Inline(query, map[string]string{"ops": "made"}); err != nil || got != want {
			t.Errorf("Inline(%s) = %s, %v, want %s", query, got, err, want)
		}
	}
}

func TestInlineNamesWhatIsWrongWithACall(t *testing.T) {
	t.Parallel()
	for query, want := range map[string]string{
		"SELECT 1 FROM tap.nonsense(run = 'a')":                "tap.nonsense: it is no view",
		"SELECT 1 FROM tap.meetings(run = 'a'":                 "tap.meetings: it is no view",
		"SELECT 1 FROM tap.meetings(run = 'a', last_step = 3)": "parameter first_step is not given",
		"SELECT 1 FROM tap.meetings('a', 0, 3)":                "has no name",
	} {
		if got, err := sql.Inline(query, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Inline(%s) = %s, %v, want an error with %q", query, got, err, want)
		}
	}
}

func TestInlineKeepsArgumentsApartThatNameEachOther(t *testing.T) {
	t.Parallel()
	call := func(problem, bench string) string {
		text, err := sql.Inline("SELECT count() FROM tap.pairs(problem = "+problem+", bench = "+bench+
			", rank = -1, first_step = 0, last_step = -1, step_offset = 0)", nil)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	const problem, bench = "{problem:String}", "{bench:String}"
	swapped := strings.NewReplacer(problem, bench, bench, problem).Replace(call(problem, bench))
	if got := call(bench, problem); got != swapped {
		t.Errorf("with the runs swapped it names the problem %d times, want %d", strings.Count(got, problem), strings.Count(swapped, problem))
	}
}
