package sql_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/tensortap/tensortap/sql"
)

func TestFactsStandInTheQuery(t *testing.T) {
	t.Parallel()
	var asked []string
	ask := func(question string) (sql.Fact, error) {
		asked = append(asked, strings.Join(strings.Fields(question), " "))
		return sql.Fact{Type: "Nullable(Array(String))", Text: `['it\'s']`, Null: strings.Contains(question, "other")}, nil
	}
	const query = `SELECT * FROM (WITH listed AS (SELECT 1), (SELECT max(x) FROM (WITH (SELECT 2) AS inner_fact SELECT inner_fact AS x)) AS a,
		length((SELECT 3)) AS b, (SELECT other FROM listed) AS c SELECT a, c FROM (SELECT 4) AS d)`
	got, err := sql.Settle(query, ask)
	if err != nil {
		t.Fatal(err)
	}
	const literal = `CAST('[\'it\\\'s\']' AS Array(String))`
	want := `SELECT * FROM (WITH listed AS (SELECT 1), ` + literal + ` AS a,
		length((SELECT 3)) AS b, (SELECT other FROM listed) AS c SELECT a, c FROM (SELECT 4) AS d)`
	if got != want {
		t.Errorf("settled = %s\nwant %s", got, want)
	}
	const beginning, ending = `SELECT toTypeName(fact) AS type, toString(fact) AS text, isNull(fact) AS is_null FROM (`, ` AS fact SELECT fact)`
	questions := []string{
		beginning + `WITH (SELECT 2)` + ending,
		beginning + `WITH listed AS (SELECT 1), (SELECT max(x) FROM (WITH ` + literal + ` AS inner_fact SELECT inner_fact AS x))` + ending,
		beginning + `WITH listed AS (SELECT 1), ` + literal + ` AS a, length((SELECT 3)) AS b, (SELECT other FROM listed)` + ending,
	}
	if strings.Join(asked, "\n") != strings.Join(questions, "\n") {
		t.Errorf("asked\n%s\nwant\n%s", strings.Join(asked, "\n"), strings.Join(questions, "\n"))
	}
}

func TestLongFactsAreLeftToTheDatabase(t *testing.T) {
	t.Parallel()
	const query = `WITH (SELECT 1) AS a, (SELECT 1) AS b SELECT a, b`
	got, err := sql.Settle(query, func(string) (sql.Fact, error) {
		return sql.Fact{Type: "String", Text: strings.Repeat("x", 1<<20)}, nil
	})
	if err != nil || got != query {
		t.Errorf("settled = %.200s, %v", got, err)
	}
}

func TestErrorOfAFactIsThatOfTheQuery(t *testing.T) {
	t.Parallel()
	want := errors.New("no such table")
	if _, err := sql.Settle(`WITH (SELECT 1) AS a SELECT a`, func(string) (sql.Fact, error) { return sql.Fact{}, want }); !errors.Is(err, want) {
		t.Errorf("error = %v, want %v", err, want)
	}
}

func TestBracketsAndQuotesInFactsAreText(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"(", ")", "((((", `'(`, `\`, "\"(", "`)", ", (SELECT 1) AS a", "WITH ("} {
		var asked []string
		ask := func(question string) (sql.Fact, error) {
			asked = append(asked, question)
			return sql.Fact{Type: "String", Text: text}, nil
		}
		const query = "SELECT 1 FROM (WITH (SELECT 1) AS a, (SELECT 2) AS b, (SELECT 3) AS c SELECT a, b, c)"
		got, err := sql.Settle(query, ask)
		literal := "CAST('" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(text) + "' AS String)"
		want := "SELECT 1 FROM (WITH " + literal + " AS a, " + literal + " AS b, " + literal + " AS c SELECT a, b, c)"
		if err != nil || got != want || len(asked) != 3 {
			t.Errorf("with %q, settled = %s, %v\nwant %s", text, got, err, want)
		}
		if last := "FROM (WITH " + literal + " AS a, " + literal + " AS b, (SELECT 3) AS fact SELECT fact)"; !strings.HasSuffix(asked[2], last) {
			t.Errorf("with %q, asked %s\nwant an ending %s", text, asked[2], last)
		}
	}
}
