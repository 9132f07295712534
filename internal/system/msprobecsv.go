package system

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/tensortap/tensortap/analysis/ask"
	"github.com/tensortap/tensortap/analysis/msprobe/msprobecsv"
)

// WriteMsprobeCSV writes what msProbe's own compare would print about two
// stored runs, to one file for each rank and step of the problem: open is called for each in
// turn, and what it returns is closed. Of raw tensors it knows what
// ComparePayloads has stored. Without a rank and step that both runs have, it
// writes nothing, which is an error.
func (c *Client) WriteMsprobeCSV(ctx context.Context, r CompareRequest, open func(msprobecsv.Place) (io.WriteCloser, error)) ([]msprobecsv.Place, error) {
	if err := c.alignFor(ctx, r.Problem, r.Bench(), r.StepOffset); err != nil {
		return nil, err
	}
	query, values, err := ask.Prepare("msprobe", r.Parameters(r.Problem, r.Benches))
	if err != nil {
		return nil, err
	}
	answer, err := c.Stream(ctx, query.Query, values)
	if err != nil {
		return nil, err
	}
	places, err := msprobecsv.Write(answer, open)
	if err := errors.Join(err, answer.Close()); err != nil {
		return places, err
	}
	if len(places) == 0 {
		return nil, fmt.Errorf("no rank and step of %q is in %q too: nothing to write", r.Problem, r.Bench())
	}
	return places, nil
}
