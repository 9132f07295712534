package system

import (
	"context"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/tensortap/tensortap/analysis/ask"
	"github.com/tensortap/tensortap/analysis/report"
	"github.com/tensortap/tensortap/sql"
)

// watchedQuestion is a report that a watch asks for again and again. A fact that
// it rests on is kept as long as the tables that it was read from have the rows
// that they had: of several facts, few change while a step is running.
type watchedQuestion struct {
	report string
	given  map[string]sql.Fact // by name: they need not be asked for
	kept   map[string]keptFact // by question and parameters
}

// sight is what a look at the database found out, on which its questions rest.
type sight struct {
	rows  map[string]string   // how many each table has, of measurements those of the two runs; absent where that is not known
	given map[string]sql.Fact // by name: those that all of its questions rest on
}

// keptFact is a fact, and how many rows the tables had that it was read from.
type keptFact struct {
	fact sql.Fact
	rows string
}

// pairsQuestion judges a step for its pairs alone, which is quicker. The facts given would tell why a row has no
// partner, and which ranks and steps have the same tensors: of one step, all can be joined.
func pairsQuestion() watchedQuestion {
	return watchedQuestion{report: "judged_steps", given: map[string]sql.Fact{
		"incomplete_ranks": {Type: "Tuple(Array(UInt32), Array(UInt32))", Text: "([],[])"},
		"common_steps":     {Type: "Array(Tuple(UInt32, UInt32))", Text: "[]"},
		"places":           {Type: "Tuple(Array(Tuple(UInt32, UInt32)), UInt64)", Text: "([],1)"},
	}}
}

// ask asks for the report.
func (q *watchedQuestion) ask(ctx context.Context, c *Client, at sight, parameters map[string]string) (report.Table, error) {
	r, values, err := ask.Prepare(q.report, parameters)
	if err != nil {
		return report.Table{}, err
	}
	given := map[string]sql.Fact{}
	maps.Copy(given, at.given)
	maps.Copy(given, q.given)
	k := factKeeper{
		kept: q.kept, used: map[string]keptFact{}, rows: at.rows, values: values,
		ask: ask.FactsOf(func(question string) (report.Table, error) { return c.Table(ctx, question, values) }),
	}
	text, err := ask.Settle(r.Query, given, k.fact)
	if err != nil {
		return report.Table{}, err
	}
	q.kept = k.used
	return c.Table(ctx, text, values)
}

// factKeeper asks for facts that are not kept, or were read from tables that have other rows by now.
type factKeeper struct {
	kept, used   map[string]keptFact // by question and parameters
	rows, values map[string]string   // of tables and of parameters
	ask          func(question string) (sql.Fact, error)
}

func (k *factKeeper) fact(question string) (sql.Fact, error) {
	key, rows := asked(question, k.values), rowsRead(question, k.rows)
	if kept, found := k.kept[key]; found && rows != "" && kept.rows == rows {
		k.used[key] = kept
		return kept.fact, nil
	}
	fact, err := k.ask(question)
	k.used[key] = keptFact{fact, rows}
	return fact, err
}

// asked is a question with the values of the parameters that it names.
func asked(question string, values map[string]string) string {
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if strings.Contains(question, "{"+name+":") {
			question += "\x1f" + name + "=" + values[name]
		}
	}
	return question
}

var storedTable = regexp.MustCompile(`\btap_store\.(\w+)`)

// rowsRead is how many rows the tables have that a question reads; empty where that is not known of all.
func rowsRead(question string, rows map[string]string) string {
	var read strings.Builder
	for _, table := range storedTable.FindAllStringSubmatch(question, -1) {
		if rows[table[1]] == "" {
			return ""
		}
		read.WriteString(table[1] + " " + rows[table[1]] + " ")
	}
	return read.String()
}
