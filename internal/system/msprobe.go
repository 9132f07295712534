package system

import (
	"context"
	"fmt"
	"io"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/tensortap/tensortap/analysis/ask"
	"github.com/tensortap/tensortap/analysis/compare"
	"github.com/tensortap/tensortap/analysis/msprobe/msprobecompare"
	"github.com/tensortap/tensortap/analysis/msprobe/msprobecsv"
	"github.com/tensortap/tensortap/analysis/msprobe/msprobeoverflow"
	"github.com/tensortap/tensortap/analysis/report"
	"github.com/tensortap/tensortap/consumers/clickhouse"
	"github.com/tensortap/tensortap/internal/steps"
	"github.com/tensortap/tensortap/schemas"
)

// OpenCSV opens the file for what msProbe's own compare would print about one rank and step of the problem. What it
// returns is closed before the next one is opened.
type OpenCSV func(msprobecsv.Place) (io.WriteCloser, error)

// CompareFoldersAsMsprobe holds dumps on disk against each other and writes what msProbe's own compare would print about
// them, raw tensors included; nothing is stored and nothing is started.
func CompareFoldersAsMsprobe(ctx context.Context, r CompareRequest, open OpenCSV) (report.Comparison, error) {
	c, _, err := compareFolders(ctx, r)
	if err != nil {
		return c.said, err
	}
	if c.raw == nil {
		c.raw, err = compareKept(ctx, c.source, PayloadRequest{
			Problem: c.said.Problem, Bench: c.said.Bench(), Folders: [2]string{r.Problem, r.Bench()},
			Rank: r.Rank, Steps: r.Steps, StepOffset: c.said.StepOffset,
		})
		if err != nil {
			return c.said, err
		}
		c.said.Warnings = append(c.said.Warnings, c.raw.result.Problems...)
		c.said.WarningCount += c.raw.result.Unreadable
	}
	r.StepOffset = c.said.StepOffset
	job, err := msprobecompare.Open(ctx, c.source, r.msprobe(c.said.Problem, c.said.Bench(), c.raw.rows))
	if err != nil {
		return c.said, err
	}
	return c.said, writeCSV(ctx, job, c.said.Problem, c.said.Bench(), open)
}

// WriteMsprobeCSV writes what msProbe's own compare would print about two
// stored runs. Of raw tensors it knows what ComparePayloads has stored. Without
// a rank and step that both runs have, it writes nothing, which is an error.
func (c *Client) WriteMsprobeCSV(ctx context.Context, r CompareRequest, open OpenCSV) error {
	job, err := c.openMsprobe(ctx, r)
	if err != nil {
		return err
	}
	return writeCSV(ctx, job, r.Problem, r.Bench(), open)
}

func writeCSV(ctx context.Context, job *msprobecompare.Job, problem, bench string, open OpenCSV) error {
	places, err := msprobecsv.Write(ctx, job, open)
	if err == nil && len(places) == 0 {
		err = fmt.Errorf("no rank and step of %q is in %q too: nothing to write", problem, bench)
	}
	return err
}

// MsprobeRequest says of which stored runs to write what msProbe's own compare would say. Begin with
// DefaultMsprobeRequest.
type MsprobeRequest struct {
	Problem, Bench string
	Rank           int64 // of the problem; -1 for all
	Steps          steps.Set
	StepOffset     int64  // what to add to a step of the problem for that of the bench
	Op             string // only this op of the problem, at the rank and step; empty for all
	Step           uint32
}

// DefaultMsprobeRequest is about everything.
func DefaultMsprobeRequest() MsprobeRequest { return MsprobeRequest{Rank: -1, Steps: steps.All()} }

// MsprobeReport writes what msProbe's own compare would say about two stored runs, row by row.
func (c *Client) MsprobeReport(ctx context.Context, r MsprobeRequest, to io.Writer, style report.Style) error {
	request := CompareRequest{Problem: r.Problem, Benches: []string{r.Bench}, Rank: r.Rank, Steps: r.Steps, StepOffset: r.StepOffset}
	if r.Op != "" {
		request.Steps = steps.Between(steps.Range{First: int64(r.Step), Last: int64(r.Step)})
	}
	job, err := c.openMsprobe(ctx, request)
	if err != nil {
		return err
	}
	if r.Op == "" {
		return report.WriteRecords(to, style, func(visit func(arrow.RecordBatch) error) error { return job.Records(ctx, visit) })
	}
	record, err := job.OpTable(ctx, r.Op)
	if err != nil {
		return err
	}
	return report.WriteRecord(to, style, record)
}

func (c *Client) openMsprobe(ctx context.Context, r CompareRequest) (*msprobecompare.Job, error) {
	raw, err := c.rawErrors(ctx, runIDs(r.Problem, r.Bench()))
	if err != nil {
		return nil, err
	}
	job, err := msprobecompare.Open(ctx, c.source(), r.msprobe(r.Problem, r.Bench(), raw))
	return job, ask.AsStored(err)
}

// rawErrors are how far the raw tensors of two stored runs are apart.
func (c *Client) rawErrors(ctx context.Context, runs [2]uint64) ([]schemas.PayloadErrorRow, error) {
	condition := fmt.Sprintf("problem_run_id = %d AND bench_run_id = %d", runs[0], runs[1])
	return clickhouse.Latest[schemas.PayloadErrorRow](ctx, c.database, condition)
}

func runIDs(problem, bench string) [2]uint64 {
	return [2]uint64{schemas.RunID(problem), schemas.RunID(bench)}
}

// msprobe is the request for runs of these names, of which raw tensors were compared.
func (r CompareRequest) msprobe(problem, bench string, raw []schemas.PayloadErrorRow) msprobecompare.Request {
	request := msprobecompare.Request{
		Problem: problem, Bench: bench, Rank: r.Rank, Steps: r.Steps, StepOffset: r.StepOffset,
		Raw: make(map[compare.PayloadPlace]*schemas.PayloadErrorRow, len(raw)),
	}
	for i := range raw {
		e := &raw[i]
		at := compare.PayloadPlace{Rank: e.Rank, Step: e.Step, ProblemSite: e.ProblemSiteID, BenchSite: e.BenchSiteID}
		request.Raw[at] = e
	}
	return request
}

// OverflowFolderAsMsprobe says where NaN or infinity began in dumps on disk, and writes what msProbe's overflow_check would.
func OverflowFolderAsMsprobe(ctx context.Context, r OverflowRequest, to io.Writer) (report.Overflow, error) {
	source, said, _, err := overflowFolder(ctx, r)
	if err != nil {
		return said, err
	}
	_, err = msprobeoverflow.Run(ctx, source, said.Run, r.Steps, to)
	return said, err
}

// WriteMsprobeOverflow writes where NaN or infinity began in a stored run as msProbe's overflow_check does, of the first
// step where its rules find anything, and says whether they do: if not, it writes nothing, as msProbe then has no file.
func (c *Client) WriteMsprobeOverflow(ctx context.Context, to io.Writer, run string, wanted steps.Set) (found bool, err error) {
	found, err = msprobeoverflow.Run(ctx, c.source(), run, wanted, to)
	return found, ask.AsStored(err)
}
