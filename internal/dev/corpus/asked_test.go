package corpus_test

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/tensortap/tensortap/analysis/compare"
	"github.com/tensortap/tensortap/analysis/judge"
	"github.com/tensortap/tensortap/analysis/msprobe/msprobecompare"
	"github.com/tensortap/tensortap/analysis/pair"
	"github.com/tensortap/tensortap/analysis/rows"
	"github.com/tensortap/tensortap/analysis/rows/store"
	"github.com/tensortap/tensortap/internal/dev/corpus"
	"github.com/tensortap/tensortap/schemas"
)

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
	job, err := msprobecompare.Open(ctx, store.Open(b.database), msprobecompare.Request{Problem: c.Problem.Name, Bench: c.Bench.Name, Rank: -1})
	if err != nil {
		return "", err
	}
	touched, at, first := touchedSites(c), map[msprobecompare.Result]int{}, []msprobecompare.Row{}
	err = job.Each(ctx, func(r *msprobecompare.Row) error {
		if touched[r.SiteID] {
			at[r.Result]++
		}
		if r.Result != msprobecompare.Pass {
			first = append(first, *r)
		}
		return nil
	})
	return said(c, at, first), err
}

// said sums up what msProbe says.
func said(c corpus.Case, at map[msprobecompare.Result]int, flagged []msprobecompare.Row) string {
	var counts []string
	for _, result := range []msprobecompare.Result{msprobecompare.Pass, msprobecompare.Warning, msprobecompare.Error} {
		if at[result] > 0 {
			counts = append(counts, fmt.Sprintf("%d %s", at[result], result))
		}
	}
	if len(counts) == 0 && len(c.Touched) > 0 {
		counts = []string{"no row"}
	}
	first := "nothing flagged"
	if len(flagged) > 0 {
		first = "first flagged " + slices.MinFunc(flagged, func(x, y msprobecompare.Row) int {
			return cmp.Or(cmp.Compare(x.Step, y.Step), cmp.Compare(x.Rank, y.Rank), cmp.Compare(x.Seq, y.Seq))
		}).Problem.Name
	}
	return strings.TrimPrefix(strings.Join(counts, ", ")+"; "+first, "; ")
}

// touchedSites are the ids of the rows of the fault.
func touchedSites(c corpus.Case) map[uint64]bool {
	sites := map[uint64]bool{}
	for _, s := range c.Touched {
		sites[schemas.SiteID(schemas.OpID(s.Op), s.Role, s.Path)] = true
	}
	return sites
}
