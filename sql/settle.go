package sql

import (
	"regexp"
	"strings"
)

// Fact is what a scalar subquery of a query answers.
type Fact struct {
	Type string // as the database names it
	Text string // as the database writes it
	Null bool
}

// longestFact bounds what of a fact is written into a query; a longer one is left to the database, as is one of null.
const longestFact = 16 << 10

// Settle writes into a query what the scalar subqueries in its WITH clauses
// answer: a database executes such a subquery once, but plans it again for each
// time that its name is used, which may be a hundred times. Facts are asked for
// by ask, with a question whose answer is one row of type, text and whether it
// is null; those in given, by their names, are taken as they are. The query is
// one that Inline made.
func Settle(query string, given map[string]Fact, ask func(question string) (Fact, error)) (string, error) {
	known := map[string]Fact{}
	return settle(query, given, func(question string) (Fact, error) {
		if fact, ok := known[question]; ok {
			return fact, nil
		}
		fact, err := ask(question)
		known[question] = fact
		return fact, err
	})
}

func settle(query string, given map[string]Fact, ask func(string) (Fact, error)) (string, error) {
	scalar, name := regexp.MustCompile(`(?:\bWITH|,)\s*\(\s*(?:SELECT|WITH)\b`), regexp.MustCompile(`^\s+AS\s+(\w+)`)
	for from := 0; ; {
		at := scalar.FindStringIndex(query[from:])
		if at == nil {
			return query, nil
		}
		begin := from + at[0] + strings.Index(query[from+at[0]:], "(")
		end := closing(query, begin)
		var named []string
		if end >= 0 {
			named = name.FindStringSubmatch(query[end+1:])
		}
		if named == nil {
			from += at[1] // a subquery among the arguments of a function
			continue
		}
		if fact, ok := given[named[1]]; ok {
			query = query[:begin] + fact.literal() + query[end+1:]
			from = begin
			continue
		}
		inner, err := settle(query[begin+1:end], given, ask) // facts that this one rests on
		if err != nil {
			return "", err
		}
		query = query[:begin+1] + inner + query[end:]
		end = begin + 1 + len(inner)
		// The inner query uses the fact once, so that it is planned once.
		question := "SELECT toTypeName(fact) AS type, toString(fact) AS text, isNull(fact) AS is_null FROM (" + query[clause(query, begin):end+1] + " AS fact SELECT fact)"
		fact, err := ask(question)
		if err != nil {
			return "", err
		}
		if fact.Null || len(fact.Text) > longestFact {
			from = end
			continue
		}
		literal := fact.literal()
		query = query[:begin] + literal + query[end+1:]
		from = begin + len(literal)
	}
}

// literal is the fact as a constant, which is not null: not every type may be nullable but by a subquery.
func (f Fact) literal() string {
	kind := f.Type
	if inner, nullable := strings.CutPrefix(kind, "Nullable("); nullable {
		kind = strings.TrimSuffix(inner, ")")
	}
	return "CAST('" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(f.Text) + "' AS " + kind + ")"
}

// clause is where the WITH clause begins in which a bracket opens at begin.
func clause(query string, begin int) int {
	open := 0
	for i := begin - 1; i >= 0 && open <= 0; i-- {
		switch query[i] {
		case ')':
			open--
		case '(':
			if open++; open > 0 {
				return i + strings.Index(query[i:], "WITH")
			}
		}
	}
	return strings.Index(query, "WITH")
}
