package system

import (
	"context"
	"io"

	"github.com/tensortap/tensortap/analysis/ask"
	"github.com/tensortap/tensortap/analysis/judge"
	"github.com/tensortap/tensortap/analysis/judging"
	"github.com/tensortap/tensortap/analysis/overflow"
	"github.com/tensortap/tensortap/analysis/report"
	"github.com/tensortap/tensortap/analysis/rows/folders"
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
func (r OverflowRequest) Validate() error { return checkFolder(r.Run) }

// OverflowFolder says where NaN or infinity began in dumps on disk; nothing is stored and nothing is started.
func OverflowFolder(ctx context.Context, r OverflowRequest) (report.Overflow, *overflow.Answer, error) {
	_, said, answer, err := overflowFolder(ctx, r)
	return said, answer, err
}

// overflowFolder also gives what was read.
func overflowFolder(ctx context.Context, r OverflowRequest) (*folders.Source, report.Overflow, *overflow.Answer, error) {
	if err := r.Validate(); err != nil {
		return nil, report.Overflow{}, nil, err
	}
	said := report.Overflow{Run: runNames([]string{r.Run})[0], Argument: report.Argument(r.Run), Asked: r.asked()}
	source, err := folders.Open(ctx, []folders.Folder{{Name: said.Run, Path: r.Run}}, nil)
	if err != nil {
		return nil, said, nil, err
	}
	said.Warnings, said.WarningCount = source.Problems()
	answer, err := overflow.Run(ctx, source, r.analysis(said.Run, nil))
	if err != nil {
		return nil, said, nil, err
	}
	answer.Fill(&said)
	return source, said, answer, nil
}

// asked is what to write in the next command beside the run.
func (r OverflowRequest) asked() report.Asked { return askedPlace(r.Rank, r.Steps) }

// analysis is the request for the run of this name.
func (r OverflowRequest) analysis(run string, exceptions []judge.Exception) overflow.Request {
	return overflow.Request{Run: run, Rank: r.Rank, Steps: r.Steps, Exceptions: exceptions}
}

// Overflow says where NaN or infinity began in a stored run.
func (c *Client) Overflow(ctx context.Context, r OverflowRequest) (report.Overflow, *overflow.Answer, error) {
	if err := r.Validate(); err != nil {
		return report.Overflow{}, nil, err
	}
	said := report.Overflow{Run: r.Run, Argument: report.Argument(r.Run), Asked: r.asked(), Stored: true}
	if err := c.checkNamed(ctx, r.Run); err != nil {
		return said, nil, err
	}
	exceptions, err := judging.Exceptions(ctx, c.Door)
	if err != nil {
		return said, nil, err
	}
	answer, err := overflow.Run(ctx, c.source(), r.analysis(said.Run, exceptions))
	if err != nil {
		return said, nil, ask.AsStored(err)
	}
	answer.Fill(&said)
	return said, answer, nil
}

// WriteOverflow writes the note, one JSON object, or, in the other formats, the origins.
func WriteOverflow(to io.Writer, style report.Style, said *report.Overflow, answer *overflow.Answer) error {
	switch style.Format {
	case report.Text:
		return said.WriteNote(to, style)
	case report.JSON:
		return report.WriteObject(to, said.Object())
	case report.CSV, report.Arrow, report.ArrowStream, report.Parquet:
	}
	return report.WriteRecord(to, style, answer.OriginTable())
}
