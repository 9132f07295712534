package system

import (
	"context"
	"io"
	"slices"

	"github.com/tensortap/tensortap/analysis/compare"
	"github.com/tensortap/tensortap/analysis/judge"
	"github.com/tensortap/tensortap/analysis/report"
	"github.com/tensortap/tensortap/analysis/rows/folders"
)

// CompareFolders holds dumps on disk against each other; nothing is stored and nothing is started.
func CompareFolders(ctx context.Context, r CompareRequest) (report.Comparison, *compare.Answer, error) {
	c, answer, err := compareFolders(ctx, r)
	return c.said, answer, err
}

// comparedFolders is what was read of folders, and said of them.
type comparedFolders struct {
	said   report.Comparison
	source *folders.Source
	raw    *rawTensors // nil where they were not asked for
	job    *compare.Job
}

func compareFolders(ctx context.Context, r CompareRequest) (c comparedFolders, answer *compare.Answer, err error) {
	c.said = report.Comparison{
		Tolerance: r.Tolerance.String(), Strict: r.Strict,
		ProblemArgument: report.Argument(r.Problem), BenchArgument: report.Argument(r.Bench()), Asked: r.asked(),
	}
	source, names, err := openFolders(ctx, r)
	c.source, c.said.Problem, c.said.Benches = source, names[0], names[1:1+len(r.Benches)]
	if err != nil {
		return c, nil, err
	}
	c.said.Warnings, c.said.WarningCount = source.Problems()
	c.said.Damage = c.said.Warnings
	job, err := compare.Open(ctx, source, r.choosing(names))
	if err != nil {
		return c, nil, err
	}
	c.job = job
	if r.Payload {
		if c.raw, err = compareRaw(ctx, [2]string{r.Problem, r.Bench()}, source, job, &c.said); err != nil {
			return c, nil, err
		}
		said := map[compare.PayloadPlace]judge.Payload{}
		c.raw.said(said)
		job.Heed(said)
	}
	if answer, err = job.Run(ctx, compare.Recalled{}, nil); err != nil {
		return c, nil, err
	}
	answer.Fill(&c.said)
	c.said.Verdict = c.said.Judge()
	return c, answer, nil
}

// openFolders reads the dumps of all sides, and gives them names as runs.
func openFolders(ctx context.Context, r CompareRequest) (source *folders.Source, names []string, err error) {
	paths := r.Sides()
	names = runNames(paths)
	named := make([]folders.Folder, len(paths))
	for i := range paths {
		named[i] = folders.Folder{Name: names[i], Path: paths[i]}
	}
	source, err = folders.Open(ctx, named, nil)
	return source, names, err
}

// analysis is the request for runs of these names.
func (r CompareRequest) analysis(names []string) compare.Request {
	request := compare.DefaultRequest()
	request.Problem, request.Benches = names[0], slices.Clone(names[1:1+len(r.Benches)])
	if r.Calibrate != "" {
		request.Calibrate = names[len(names)-1]
	}
	request.Rank, request.StepOffset = r.Rank, r.StepOffset
	request.Steps, request.Map, request.OnlySteps = r.Steps, r.Map, r.FoldersOnly()
	request.Merge = true
	request.Judge.Tolerance = r.Tolerance.Number
	for _, rule := range r.Tolerance.Rules {
		request.Judge.Rules = append(request.Judge.Rules, judge.ToleranceRule{Op: rule.Op, Dtype: rule.Dtype, Tolerance: rule.Tolerance})
	}
	request.Keep.Texts, request.Keep.Strict = r.Texts, r.Strict
	request.Keep.Limit = int(r.Limit) //nolint:gosec // a number of rows
	request.Keep.UnpairedLimit = unpairedShown
	return request
}

// choosing is the request for runs of these names, where two implementations of a model are compared by the map that ships
// for them. Raw tensors are compared by names alone.
func (r CompareRequest) choosing(names []string) compare.Request {
	request := r.analysis(names)
	request.ChooseMap = !r.ByName && !r.Payload
	return request
}

// unpairedShown is how many ops without partner an answer names.
const unpairedShown = 10

// WriteAnswer writes the note, one JSON object, or, in the other formats, the tensors that differ.
func WriteAnswer(to io.Writer, style report.Style, comparison *report.Comparison, answer *compare.Answer) error {
	switch style.Format {
	case report.Text:
		return comparison.WriteNote(to, style)
	case report.JSON:
		return report.WriteObject(to, comparison.Object(style))
	case report.CSV, report.Arrow, report.ArrowStream, report.Parquet:
	}
	record, _ := answer.Table("divergence")
	return report.WriteRecord(to, style, record.NewSlice(0, int64(len(comparison.Divergence.Rows))))
}
