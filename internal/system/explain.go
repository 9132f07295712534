package system

import (
	"context"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/tensortap/tensortap/analysis/compare"
	"github.com/tensortap/tensortap/analysis/explain"
	"github.com/tensortap/tensortap/analysis/msprobe/msprobecompare"
	"github.com/tensortap/tensortap/analysis/report"
	"github.com/tensortap/tensortap/analysis/rows"
	"github.com/tensortap/tensortap/analysis/rows/store"
	"github.com/tensortap/tensortap/internal/steps"
	"github.com/tensortap/tensortap/schemas"
)

// ExplainRequest says which op of which runs to explain. Begin with DefaultExplainRequest.
type ExplainRequest struct {
	Compare    CompareRequest // runs and how to judge; its steps and limit are not looked at
	Name       string         // of an op or a module, or a part of it that only one has
	Step       int64          // of the problem; -1, as for the rank, for the first at which the op differs
	Before     int            // ops before it to show
	WholeStack bool
}

// DefaultExplainRequest shows a few ops before the op.
func DefaultExplainRequest() ExplainRequest {
	return ExplainRequest{Compare: DefaultCompareRequest(), Step: -1, Before: 6}
}

// longestName bounds what is looked for among the names of ops.
const longestName = 1000

// Validate says what is wrong with the request.
func (r ExplainRequest) Validate() error {
	switch {
	case r.Name == "":
		return errors.New("the name of an op is empty: give that of an op or a module, or part of one")
	case utf8.RuneCountInString(r.Name) > longestName || !utf8.ValidString(r.Name):
		return fmt.Errorf("the name of an op has %d characters: want UTF-8 and at most %d", utf8.RuneCountInString(r.Name), longestName)
	case r.Before < 0:
		return fmt.Errorf("%d ops before it: want 0 or more", r.Before)
	}
	return r.Compare.Validate()
}

// explanation is of the runs as the user wrote them.
func (r ExplainRequest) explanation() report.Explanation {
	problem, bench := r.Compare.Problem, r.Compare.Bench()
	return report.Explanation{
		Problem: problem, Bench: bench, WholeStack: r.WholeStack,
		ProblemArgument: report.Argument(problem), BenchArgument: report.Argument(bench), Asked: r.Compare.asked(),
	}
}

// analysis compares all places of the runs of these names, which those of an op are taken from.
func (r ExplainRequest) analysis(names []string) compare.Request {
	all := r.Compare
	all.Rank, all.Steps = -1, steps.All()
	return all.choosing(names)
}

// ExplainFolders explains an op of dumps on disk; nothing is stored and nothing is started.
func ExplainFolders(ctx context.Context, r ExplainRequest) (report.Explanation, error) {
	e := r.explanation()
	source, names, err := openFolders(ctx, r.Compare)
	e.Problem, e.Bench = names[0], names[1]
	if err != nil {
		return e, err
	}
	e.Warnings, e.WarningCount = source.Problems()
	job, err := compare.Open(ctx, source, r.analysis(names))
	if err != nil {
		return e, err
	}
	return e, r.explain(ctx, job, &e)
}

// explain fills in what the comparison says of the op.
func (r ExplainRequest) explain(ctx context.Context, job *compare.Job, e *report.Explanation) error {
	answer, err := explain.Run(ctx, job, explain.Request{Name: r.Name, Rank: r.Compare.Rank, Step: r.Step, Before: r.Before})
	if err != nil {
		return err
	}
	if tooMany := job.TooManyPrograms(); tooMany != nil {
		e.Gaps = append(e.Gaps, tooMany.Error())
	}
	answer.Fill(e)
	return nil
}

// Explain says of one op of stored runs how it was paired, what it took and gave in both, and what ran before it.
func (c *Client) Explain(ctx context.Context, r ExplainRequest) (report.Explanation, error) {
	opened, err := c.OpenExplaining(ctx, r)
	if err != nil {
		return r.explanation(), err
	}
	return opened.Explain(ctx, r)
}

// Explaining is a comparison of stored runs that was opened to explain ops of it, of one after the other.
type Explaining struct {
	client    *Client
	source    *store.Source
	job       *compare.Job
	byMsprobe *msprobecompare.Job // once an op was asked for that msProbe compares, too
}

// OpenExplaining opens the comparison of the runs of a request, as they are stored now.
func (c *Client) OpenExplaining(ctx context.Context, r ExplainRequest) (*Explaining, error) {
	r.Compare.Stored = true
	if err := r.Validate(); err != nil {
		return nil, err
	}
	for _, run := range r.Compare.Sides() {
		if err := c.checkNamed(ctx, run); err != nil {
			return nil, err
		}
	}
	request := r.analysis(r.Compare.Sides())
	opened := &Explaining{client: c, source: c.source()}
	var err error
	opened.job, err = c.openStored(ctx, opened.source, &request)
	return opened, err
}

// Explain is as that of the client, for another op, rank or step of the same comparison.
func (x *Explaining) Explain(ctx context.Context, r ExplainRequest) (report.Explanation, error) {
	e := r.explanation()
	e.Stored, r.Compare.Stored = true, true
	if err := r.explain(ctx, x.job, &e); err != nil || len(x.job.Merges()) > 0 { // msProbe knows no merged ranks
		return e, err
	}
	return e, x.askMsprobe(ctx, r, &e)
}

// ofOp is a source that gives the tensors of one op alone: msProbe pairs by names, and judges each op by its own.
type ofOp struct {
	*store.Source
	wanted rows.Wanted
}

// Tensors implements rows.Source.
func (s ofOp) Tensors(ctx context.Context, run *rows.Run, places []rows.Place) (map[rows.Place]*rows.Tensors, error) {
	return s.Selected(ctx, run, places, s.wanted)
}

// askMsprobe says what msProbe's own compare does of the op, where msProbe observed both runs.
func (x *Explaining) askMsprobe(ctx context.Context, r ExplainRequest, e *report.Explanation) error {
	problem, bench := x.job.Runs()
	if problem.Described.Source != schemas.SourceMsprobe || bench.Described.Source != schemas.SourceMsprobe {
		return nil
	}
	raw, err := x.client.rawErrors(ctx, runIDs(e.Problem, e.Bench))
	if err != nil {
		return err
	}
	request := r.Compare.msprobe(e.Problem, e.Bench, raw)
	request.Rank, request.Steps = e.Rank, steps.Between(steps.Range{First: e.Step, Last: e.Step})
	var of msprobecompare.Source = x.source
	if x.job.Selects() {
		of = ofOp{x.source, x.job.TensorsOf(e.Op)}
	}
	if x.byMsprobe == nil {
		if x.byMsprobe, err = msprobecompare.OpenRuns(ctx, x.source, problem, bench, request); err != nil {
			return err
		}
	}
	record, err := x.byMsprobe.At(of, request).OpTable(ctx, e.Op)
	if err == nil {
		e.Msprobe = report.TableOf(record)
	}
	return err
}
