package corpus_test

import (
	"context"
	"strconv"
	"strings"

	"github.com/tensortap/tensortap/analysis/report"
	"github.com/tensortap/tensortap/internal/dev/corpus"
	"github.com/tensortap/tensortap/schemas"
	"github.com/tensortap/tensortap/sql"
)

// names are the parameters of a case's views.
func names(c corpus.Case) map[string]string {
	return map[string]string{"problem": c.Problem.Name, "bench": c.Bench.Name}
}

// notable asks for verdicts with their names, all that a condition lets through.
func (b *bench) notable(ctx context.Context, c corpus.Case, condition string) (report.Table, error) {
	return b.views(ctx, `
		SELECT v.rank AS rank, v.bench_rank AS bench_rank, v.step AS step, v.seq AS seq, o.name AS op, s.role AS role, s.path AS path,
			bo.name AS bench_op, bs.role AS bench_role, bs.path AS bench_path, v.problem_present AS present,
			toString(v.verdict) AS verdict, v.reason AS reason, toString(v.evidence) AS evidence, v.error AS error, v.tolerance AS tolerance, v.differs AS differs
		FROM tap.verdicts(problem = {problem:String}, bench = {bench:String}, benches = [], tolerance = -1, tolerances = [],
			rank = -1, first_step = 0, last_step = -1, step_offset = 0) AS v
		LEFT JOIN tap.sites AS s ON s.site_id = v.site_id
		LEFT JOIN tap.ops AS o ON o.op_id = s.op_id
		LEFT JOIN tap.sites AS bs ON bs.site_id = v.bench_site_id
		LEFT JOIN tap.ops AS bo ON bo.op_id = bs.op_id
		WHERE `+condition+`
		ORDER BY step, rank, present DESC, seq`, names(c))
}

// views is the answer to a query that calls views with parameters, which are put into it: a database plans that sooner.
func (b *bench) views(ctx context.Context, query string, parameters map[string]string) (report.Table, error) {
	text, err := sql.Inline(query, nil)
	if err != nil {
		return report.Table{}, err
	}
	text, err = sql.Settle(text, func(question string) (sql.Fact, error) {
		t, err := b.Table(ctx, question, parameters)
		if err != nil {
			return sql.Fact{}, err
		}
		return sql.Fact{Type: t.Get(0, "type").Exact, Text: t.Get(0, "text").Exact, Null: yes(t.Get(0, "is_null"))}, nil
	})
	if err != nil {
		return report.Table{}, err
	}
	return b.Table(ctx, text, parameters)
}

// msprobeSays is msProbe's own word: on the rows of the fault, and which row it flags first at all.
func (b *bench) msprobeSays(ctx context.Context, c corpus.Case) (string, error) {
	table, err := b.views(ctx, `
		SELECT arrayStringConcat(arrayMap(r -> concat(toString(countEqual(results, r)), ' ', r), arrayFilter(r -> has(results, r), ['pass', 'warning', 'error'])), ', ') AS at_fault,
			first_flagged
		FROM (
			SELECT groupArrayIf(toString(msprobe_result), site_id IN (`+siteIDs(c)+`)) AS results,
				argMinIf(name, (step, rank, seq), msprobe_result != 'pass') AS first_flagged
			FROM tap.msprobe_results(problem = {problem:String}, bench = {bench:String}, rank = -1, first_step = 0, last_step = -1, step_offset = 0)
		)`, names(c))
	if err != nil || len(table.Rows) == 0 {
		return "", err
	}
	at, first := table.Get(0, "at_fault").Exact, table.Get(0, "first_flagged").Exact
	if at == "" && len(c.Touched) > 0 {
		at = "no row"
	}
	if first == "" {
		first = "nothing flagged"
	} else {
		first = "first flagged " + first
	}
	return strings.TrimPrefix(at+"; "+first, "; "), nil
}

// siteIDs are the ids of the rows of the fault, for a list in a query.
func siteIDs(c corpus.Case) string {
	ids := []string{"0"}
	for _, s := range c.Touched {
		ids = append(ids, strconv.FormatUint(schemas.SiteID(schemas.OpID(s.Op), s.Role, s.Path), 10))
	}
	return strings.Join(ids, ",")
}
