package corpus_test

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/tensortap/tensortap/analysis/compare"
	"github.com/tensortap/tensortap/analysis/judge"
	"github.com/tensortap/tensortap/analysis/pair"
	"github.com/tensortap/tensortap/analysis/rows"
	"github.com/tensortap/tensortap/analysis/rows/store"
	"github.com/tensortap/tensortap/internal/dev/corpus"
	"github.com/tensortap/tensortap/schemas"
)

// names are the parameters of a case's views.
func names(c corpus.Case) map[string]string {
	return map[string]string{"problem": c.Problem.Name, "bench": c.Bench.Name}
}

// judged are the verdicts on all pairs of rows of a case, those first that the problem has.
func (b *bench) judged(ctx context.Context, c corpus.Case) ([]judged, error) {
	request := compare.DefaultRequest()
	request.Problem, request.Benches = c.Problem.Name, []string{c.Bench.Name}
	job, err := compare.Open(ctx, store.Open(b.database), request)
	if err != nil {
		return nil, err
	}
	var mutex sync.Mutex
	var all []judged
	err = job.Judge(ctx, job.Steps(), func(_ pair.Step, pairs []judge.Judged) error {
		mutex.Lock()
		defer mutex.Unlock()
		for i := range pairs {
			all = append(all, judgedRow(&pairs[i], job.Definitions()))
		}
		return nil
	})
	slices.SortStableFunc(all, func(x, y judged) int { return cmp.Compare(alone(x), alone(y)) })
	return all, err
}

// alone is 1 of a row that only the bench has.
func alone(j judged) int {
	if j.present {
		return 0
	}
	return 1
}

// judgedRow is a pair with its names.
func judgedRow(j *judge.Judged, definitions *rows.Definitions) judged {
	named := func(rank, step uint32, id uint64) corpus.Site {
		site := definitions.Sites[id]
		return corpus.Site{Rank: int(rank), Step: int(step), Op: definitions.Op(site.OpID).Name, Role: site.Role, Path: site.Path}
	}
	return judged{
		site: named(j.Rank, j.Step, j.Own().SiteID), partner: named(j.BenchRank, j.Step, j.Bench.SiteID), present: j.InProblem,
		verdict: j.Class.String(), reason: j.Reason, evidence: j.Evidence.String(), differs: j.Differs, tolerance: j.Tolerance,
	}
}

// msprobeSays is msProbe's own word: on the rows of the fault, and which row it flags first at all.
func (b *bench) msprobeSays(ctx context.Context, c corpus.Case) (string, error) {
	table, err := b.Table(ctx, `
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
