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

// LongestFact bounds, in bytes, what of a fact is written into a query; a longer one is left to the database, as is one of null.
const LongestFact = 16 << 10

// Settle writes into a query what the scalar subqueries in its WITH clauses
// answer: a database executes such a subquery once, but plans it again for each
// time that its name is used, which may be a hundred times. Facts are asked for
// by ask, with a question whose answer is one row of type, text and whether it
// is null. The query is one that Inline made.
func Settle(query string, ask func(question string) (Fact, error)) (string, error) {
	known := map[string]Fact{}
	return settle(query, func(question string) (Fact, error) {
		if fact, ok := known[question]; ok {
			return fact, nil
		}
		fact, err := ask(question)
		known[question] = fact
		return fact, err
	})
}

func settle(query string, ask func(string) (Fact, error)) (string, error) {
	name := regexp.MustCompile(`^\s+AS\s+\w`)
	for from := 0; ; {
		begin := nextScalar(query, from)
		if begin < 0 {
			return query, nil
		}
		end := closing(query, begin)
		if end < 0 || !name.MatchString(query[end+1:]) {
			from = begin + 1 // a subquery among the arguments of a function
			continue
		}
		inner, err := settle(query[begin+1:end], ask) // facts that this one rests on
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
		if fact.Null || len(fact.Text) > LongestFact {
			from = end
			continue
		}
		literal := fact.literal()
		query = query[:begin] + literal + query[end+1:]
		from = begin + len(literal)
	}
}

// nextScalar is where the next bracket opens around a subquery that may stand in a clause WITH; -1 where there is none.
func nextScalar(query string, from int) int {
	for {
		at := strings.IndexByte(query[from:], '(')
		if at < 0 {
			return -1
		}
		begin := from + at
		if mayListFact(query[:begin]) && isSubquery(query[begin+1:]) {
			return begin
		}
		from = begin + 1
	}
}

func mayListFact(before string) bool {
	before = strings.TrimRight(before, blanks)
	clause, found := strings.CutSuffix(before, "WITH")
	return strings.HasSuffix(before, ",") || found && (clause == "" || !isWord(clause[len(clause)-1]))
}

func isSubquery(text string) bool {
	text = strings.TrimLeft(text, blanks)
	for _, word := range []string{"SELECT", "WITH"} {
		if rest, found := strings.CutPrefix(text, word); found && (rest == "" || !isWord(rest[0])) {
			return true
		}
	}
	return false
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
	opened := []int{0}
	for i := 0; i < begin; i++ {
		switch query[i] {
		case '\'', '"', '`':
			i = endOfQuoted(query, i)
		case '(':
			opened = append(opened, i)
		case ')':
			opened = opened[:max(1, len(opened)-1)]
		}
	}
	within := opened[len(opened)-1]
	return within + strings.Index(query[within:], "WITH")
}
