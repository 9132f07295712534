package system

import (
	"context"
	"io"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"github.com/tensortap/tensortap/analysis/report"
	"github.com/tensortap/tensortap/sql"
)

// settled is a query made cheap to plan: the views with parameters in it, and what they must know before they are read.
func (c *Client) settled(ctx context.Context, query string, parameters map[string]string) (string, error) {
	return settle(query, nil, nil, factsOf(func(question string) (report.Table, error) { return c.plainTable(ctx, question, parameters) }))
}

// settle inlines views, but for those of which a table was made, and writes the facts in the query that they rest on:
// those given, by name, and what ask answers.
func settle(query string, made map[string]string, given map[string]sql.Fact, ask func(question string) (sql.Fact, error)) (string, error) {
	text, err := sql.Inline(query, made)
	if err != nil {
		return "", err
	}
	return sql.Settle(text, given, ask)
}

// factsOf reads facts from the answers of a database.
func factsOf(ask func(question string) (report.Table, error)) func(string) (sql.Fact, error) {
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

// rowsOfViews are the rows of a query that calls views.
func (c *Client) rowsOfViews(ctx context.Context, query string, parameters ...any) (driver.Rows, error) {
	text, err := sql.Inline(query, nil)
	if err != nil {
		return nil, err
	}
	return c.database.Query(ctx, text, parameters...)
}

// tableOfViews is Table for a query that calls views with parameters.
func (c *Client) tableOfViews(ctx context.Context, query string, parameters map[string]string) (report.Table, error) {
	text, err := c.settled(ctx, query, parameters)
	if err != nil {
		return report.Table{}, err
	}
	return c.plainTable(ctx, text, parameters)
}

// QueryViews is Query for a query that calls views with parameters.
func (c *Client) QueryViews(ctx context.Context, to io.Writer, style report.Style, query string, parameters map[string]string) error {
	text, err := c.settled(ctx, query, parameters)
	if err != nil {
		return err
	}
	return c.Query(ctx, to, style, text, parameters)
}
