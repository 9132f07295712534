package system

import (
	"testing"

	"github.com/tensortap/tensortap/sql"
)

func TestFactsAreKeptWhileTheirTablesHaveTheSameRows(t *testing.T) {
	t.Parallel()
	const question = "SELECT max(step) FROM tap_store.step WHERE step >= {first_step:Int64} AND run_id IN (SELECT run_id FROM tap_store.run)"
	before := map[string]string{"step": "3", "run": "2", "tensor": "9"}
	for name, c := range map[string]struct {
		rows, values map[string]string
		kept         bool
	}{
		"the same":              {before, map[string]string{"first_step": "1", "problem": "a"}, true},
		"another table grew":    {map[string]string{"step": "3", "run": "2", "tensor": "10"}, map[string]string{"first_step": "1"}, true},
		"a table grew":          {map[string]string{"step": "4", "run": "2"}, map[string]string{"first_step": "1"}, false},
		"other parameters":      {before, map[string]string{"first_step": "2"}, false},
		"nobody knows the rows": {map[string]string{"step": "3"}, map[string]string{"first_step": "1"}, false},
	} {
		asked := 0
		ask := func(string) (sql.Fact, error) { asked++; return sql.Fact{Text: "7"}, nil }
		first := factKeeper{used: map[string]keptFact{}, rows: before, values: map[string]string{"first_step": "1", "problem": "b"}, ask: ask}
		if _, err := first.fact(question); err != nil {
			t.Fatal(err)
		}
		again := factKeeper{kept: first.used, used: map[string]keptFact{}, rows: c.rows, values: c.values, ask: ask}
		if fact, err := again.fact(question); err != nil || fact.Text != "7" || (asked == 1) != c.kept {
			t.Errorf("%s: fact %v, %v, asked %d times; want it kept: %v", name, fact, err, asked, c.kept)
		}
	}
}
