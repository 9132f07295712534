package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/tensortap/tensortap/analysis/ask"
	"github.com/tensortap/tensortap/analysis/report"
	"github.com/tensortap/tensortap/internal/system"
)

// Limits of a question in SQL.
const (
	sqlFor   = 30 * time.Second
	sqlRows  = 100_000
	sqlBytes = 256 << 20
)

// question is what is asked in SQL.
type question struct {
	Query  string `json:"query"`
	Format string `json:"format"`
	Limit  uint64 `json:"limit"` // rows; the greatest number where it is 0
}

func sqlSchema() object {
	return object{
		"type": "object", "required": []string{"query"}, "additionalProperties": false, "properties": object{
			"query":  object{"type": "string", "description": "One SELECT. It may take 30 s, and changes nothing, reads no file and reaches no other host."},
			"format": object{"type": "string", "enum": formatParameter().Values, "description": "Format of the answer; without it the header Accept says it."},
			"limit":  object{"type": "integer", "maximum": sqlRows, "description": fmt.Sprintf("Greatest number of rows; %d, which is the most, by default. An answer of more than %d MiB is cut off.", sqlRows, sqlBytes>>20)},
		},
	}
}

// sql asks the database what somebody wrote.
func (a *API) sql(ctx context.Context, client *system.Client, w http.ResponseWriter, r *http.Request) error {
	var asked question
	if err := a.readBody(w, r, &asked); err != nil {
		return err
	}
	style, err := asked.style(r)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, sqlFor)
	defer cancel()
	if err := onlyReads(ctx, client); err != nil {
		return err
	}
	tellGaps(w, current(ctx, client))
	describe(w, style.Format)
	w.Header().Set("Cache-Control", "no-store")
	return sqlProblem(ctx, client.WriteAtMost(ctx, w, style, sqlBytes, asked.Query))
}

func (q *question) style(r *http.Request) (report.Style, error) {
	if strings.TrimSpace(q.Query) == "" {
		return report.Style{}, wrong("query", "the query is empty: want one SELECT")
	}
	if !asks(q.Query) {
		return report.Style{}, wrong("query", "the query does not begin as one that asks: want %s", strings.Join(askingWords(), ", "))
	}
	if q.Limit > sqlRows {
		return report.Style{}, wrong("limit", "limit %d: the greatest number of rows is %d", q.Limit, sqlRows)
	}
	values := given{}
	if q.Format != "" {
		if !slices.Contains(formatParameter().Values, q.Format) {
			return report.Style{}, wrong("format", "format %s: want one of %s", shortened(q.Format), strings.Join(formatParameter().Values, ", "))
		}
		values["format"] = []string{q.Format}
	}
	format, err := formatOf(r, values)
	rows := q.Limit
	if rows == 0 {
		rows = sqlRows
	}
	return report.Style{Format: format, Limit: rows}, err
}

// askingWords begin statements that ask. Others a reader may give, too: KILL ends what readers ask beside.
func askingWords() []string {
	return []string{"SELECT", "WITH", "FROM", "SHOW", "DESCRIBE", "DESC", "EXPLAIN", "EXISTS"}
}

// asks says whether a statement begins with one of these words, behind comments and brackets.
func asks(query string) bool {
	for {
		query = strings.TrimLeft(query, " \t\r\n\f\v(")
		switch {
		case strings.HasPrefix(query, "--"), strings.HasPrefix(query, "#"):
			_, query, _ = strings.Cut(query, "\n")
		case strings.HasPrefix(query, "/*"):
			_, query, _ = strings.Cut(query, "*/")
		default:
			end := strings.IndexFunc(query, func(r rune) bool { return !unicode.IsLetter(r) })
			if end < 0 {
				end = len(query)
			}
			return slices.Contains(askingWords(), strings.ToUpper(query[:end]))
		}
	}
}

// onlyReads refuses where the server asks the database as a user who may do more than read.
func onlyReads(ctx context.Context, client *system.Client) error {
	is, err := client.ReadsOnly(ctx)
	if err == nil && !is {
		return &problemError{Status: http.StatusForbidden, Sentence: "SQL is not taken here: the ClickHouse user of this server may do more than read. Give it one with readonly = 1"}
	}
	return err
}

// sqlProblem says what an error is to who wrote the query.
func sqlProblem(ctx context.Context, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return wrong("query", "the query took longer than %v, the limit", sqlFor)
	case errors.Is(err, ask.ErrTooLong):
		return wrong("query", "%v: ask for fewer rows or columns", err)
	}
	p := problemOf(err)
	if p.Status == http.StatusBadRequest {
		p.Parameter = "query"
	}
	return p
}
