package system

import (
	"context"
	"errors"

	"github.com/tensortap/tensortap/analysis/pair"
)

// alignmentsView has how programs of two runs are aligned, of those that were compared before.
const alignmentsView = "tap.alignments"

// storeAlignments has that view hold the programs of both runs of a report, and says what was left out.
func (c *Client) storeAlignments(ctx context.Context, r *ReportRequest) (gaps []string, err error) {
	request := r.Judging
	request.Problem, request.Benches, request.Calibrate = r.Given["problem"], []string{r.Given["bench"]}, ""
	_, err = c.Pairing(ctx, request)
	if tooMany := (*pair.TooManyProgramsError)(nil); errors.As(err, &tooMany) {
		gaps, err = []string{tooMany.Error()}, nil
	}
	if err != nil {
		return nil, err
	}
	return gaps, c.WaitStored(ctx)
}
