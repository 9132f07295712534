package ask

import (
	"context"

	"github.com/tensortap/tensortap/analysis/report"
	"github.com/tensortap/tensortap/sql"
)

// settled is a query made cheap to plan: the views in it, and what they must know before they are read.
func (d *Door) settled(ctx context.Context, query string, parameters map[string]string) (string, error) {
	return Settle(query, nil, FactsOf(func(question string) (report.Table, error) { return d.plain(ctx, question, parameters) }))
}

// Settle inlines views, and writes the facts in the query that they rest on: those given, by name, and what ask answers.
func Settle(query string, given map[string]sql.Fact, ask func(question string) (sql.Fact, error)) (string, error) {
	text, err := sql.Inline(query, nil)
	if err != nil {
		return "", err
	}
	return sql.Settle(text, given, ask)
}

// FactsOf reads facts from the answers of a database.
func FactsOf(ask func(question string) (report.Table, error)) func(string) (sql.Fact, error) {
	return func(question string) (sql.Fact, error) {
		answer, err := ask(question)
		if err != nil {
			return sql.Fact{}, err
		}
		return sql.Fact{
			Type: answer.Get(0, "type").Exact, Text: answer.Get(0, "text").Exact, Null: answer.Get(0, "is_null").Number == 1,
		}, nil
	}
}
