package system

import (
	"context"
	"io"
	"strconv"

	"github.com/tensortap/tensortap/analysis/ask"
	"github.com/tensortap/tensortap/analysis/report"
	"github.com/tensortap/tensortap/internal/steps"
)

// OverflowRequest says in which run to look for NaN and infinity. Begin with DefaultOverflowRequest.
type OverflowRequest struct {
	Run   string // name of a run, or a folder of msProbe dumps
	Rank  int64  // -1 for all
	Steps steps.Set
}

// DefaultOverflowRequest looks everywhere.
func DefaultOverflowRequest() OverflowRequest { return OverflowRequest{Rank: -1} }

// Folder says whether the run is a dump that still has to be read.
func (r OverflowRequest) Folder() bool { return IsFolder(r.Run) }

// Validate says what is wrong with the request.
func (r OverflowRequest) Validate() error {
	if err := checkFolder(r.Run); err != nil {
		return err
	}
	return CheckRange(r.Steps)
}

// parameters are those of the reports, for the run of this name.
func (r OverflowRequest) parameters(run string) map[string]string {
	return map[string]string{
		"run": run, "rank": strconv.FormatInt(r.Rank, 10),
		"first_step": strconv.FormatInt(r.Steps.First(), 10), "last_step": strconv.FormatInt(r.Steps.Last(), 10),
	}
}

// Overflow publishes the run if it is a folder, and says where NaN or infinity began in it.
func (c *Client) Overflow(ctx context.Context, r OverflowRequest) (report.Overflow, error) {
	if err := r.Validate(); err != nil {
		return report.Overflow{}, err
	}
	overflow := report.Overflow{Run: r.Run, Argument: report.Argument(r.Run), Stored: !r.Folder()}
	if err := c.provideRun(ctx, r, &overflow); err != nil {
		return overflow, err
	}
	if err := c.CheckRank(ctx, overflow.Run, r.Rank); err != nil {
		return overflow, err
	}
	for _, asked := range []struct {
		name string
		to   *report.Table
	}{
		{"overflow_origin", &overflow.Origins},
		{"overflow_summary", &overflow.Summary},
		{"completeness", &overflow.Completeness},
	} {
		var err error
		if *asked.to, err = c.Report(ctx, asked.name, r.parameters(overflow.Run)); err != nil {
			return overflow, err
		}
	}
	return overflow, nil
}

func (c *Client) provideRun(ctx context.Context, r OverflowRequest, overflow *report.Overflow) error {
	if overflow.Stored {
		return c.checkNamed(ctx, r.Run)
	}
	overflow.Run = runNames([]string{r.Run})[0]
	published, err := c.publishFolder(ctx, overflow.Run, r.Run)
	if err != nil {
		return err
	}
	overflow.Warnings, overflow.WarningCount = published.Problems, published.ProblemCount
	return c.WaitStored(ctx)
}

// WriteOverflow writes the note, one JSON object, or, in the other formats, the origins.
func (c *Client) WriteOverflow(ctx context.Context, to io.Writer, style report.Style, r OverflowRequest, overflow *report.Overflow) error {
	switch style.Format {
	case report.Text:
		return overflow.WriteNote(to, style)
	case report.JSON:
		return report.WriteObject(to, overflow.Object())
	case report.CSV, report.Arrow, report.Parquet:
	}
	query, values, err := ask.Prepare("overflow_origin", r.parameters(overflow.Run))
	if err != nil {
		return err
	}
	return c.Write(ctx, to, style, query.Query, values)
}
