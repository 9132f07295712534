package ask

import (
	"context"
	"strings"

	"github.com/tensortap/tensortap/sql"
)

// settled is a query made cheap to plan: the views in it, and what they must know before they are read.
func (d *Door) settled(ctx context.Context, query string, parameters map[string]string) (string, error) {
	if !strings.Contains(query, "tap.") {
		return query, nil
	}
	text, err := sql.Inline(query, nil)
	if err != nil {
		return "", err
	}
	return sql.Settle(text, func(question string) (sql.Fact, error) {
		answer, err := d.plain(ctx, question, parameters)
		if err != nil {
			return sql.Fact{}, err
		}
		return sql.Fact{
			Type: answer.Get(0, "type").Exact, Text: answer.Get(0, "text").Exact, Null: answer.Get(0, "is_null").Number == 1,
		}, nil
	})
}
