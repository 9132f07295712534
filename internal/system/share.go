package system

import (
	"context"
	"io"

	"github.com/tensortap/tensortap/analysis/report"
	"github.com/tensortap/tensortap/analysis/share"
)

// ShareFolders compares dumps on disk and writes the comparison as one file. The style says how its commands call this
// program.
func ShareFolders(ctx context.Context, r CompareRequest, style report.Style, file share.File, to io.Writer) (report.Comparison, error) {
	c, answer, err := compareFolders(ctx, r)
	if err != nil {
		return c.said, err
	}
	return c.said, file.Write(ctx, to, share.Comparison{Job: c.job, Answer: answer, Said: c.said.Object(style)})
}

// Share does the same with stored runs.
func (c *Client) Share(ctx context.Context, r CompareRequest, style report.Style, file share.File, to io.Writer) (report.Comparison, error) {
	comparison, answer, err := c.Compare(ctx, r)
	if err != nil {
		return comparison, err
	}
	request := r.choosing(r.Sides())
	job, err := c.openStored(ctx, c.source(), &request)
	if err != nil {
		return comparison, err
	}
	return comparison, file.Write(ctx, to, share.Comparison{Job: job, Answer: answer, Said: comparison.Object(style)})
}
