package sql_test

import (
	"strings"
	"testing"

	"github.com/tensortap/tensortap/sql"
)

// askAsCommand asks as the commands do: the views with parameters stand in the query's text, and its facts are settled.
func (d *database) askAsCommand(tb testing.TB, object sql.Object, parameters map[string]string) string {
	tb.Helper()
	text, err := sql.Inline(answer(object), nil)
	if err != nil {
		tb.Fatal(err)
	}
	text, err = sql.Settle(text, func(question string) (sql.Fact, error) {
		return d.fact(tb, question, parameters), nil
	})
	if err != nil {
		tb.Fatal(err)
	}
	return d.Query(tb, text+"\nFORMAT TabSeparatedWithNames", "", parameters)
}

// fact is the answer to a question of Settle.
func (d *database) fact(tb testing.TB, question string, parameters map[string]string) sql.Fact {
	tb.Helper()
	row := strings.Split(strings.TrimSuffix(d.Query(tb, question+"\nFORMAT TSVRaw", "", parameters), "\n"), "\t")
	return sql.Fact{Type: row[0], Text: strings.Join(row[1:len(row)-1], "\t"), Null: row[len(row)-1] == "1"}
}
