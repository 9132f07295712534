package system

import (
	"context"
	"fmt"
	"strings"

	"github.com/tensortap/tensortap/analysis/judging"
	"github.com/tensortap/tensortap/pipelines"
	"github.com/tensortap/tensortap/schemas"
)

// Basis is a text that is another once an event of one of the runs has come, or of any run where none is named. An answer
// that is made once the database holds what the stream held before rests on that at least.
func (c *Client) Basis(ctx context.Context, runs ...string) (string, error) {
	stream, err := c.streamInfo(ctx)
	if err != nil {
		return "", err
	}
	var basis strings.Builder
	fmt.Fprintf(&basis, "%d", stream.Created.UnixNano()) // another stream counts anew
	if len(runs) == 0 {
		fmt.Fprintf(&basis, " %d", stream.State.LastSeq)
	}
	for _, run := range runs {
		last, err := pipelines.LastOfRun(ctx, c.stream, schemas.RunID(run))
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&basis, " %d", last)
	}
	return basis.String(), nil
}

// Exceptions is a text that is another once somebody has written into the table of known exceptions, by which runs are judged.
func (c *Client) Exceptions(ctx context.Context) (string, error) {
	exceptions, err := judging.Exceptions(ctx, c.Door)
	return fmt.Sprint(exceptions), err
}

// LastOf is the place in the stream of the last message of each of some kinds.
func (c *Client) LastOf(ctx context.Context, kinds []string) (map[string]uint64, error) {
	places := make(map[string]uint64, len(kinds))
	for _, kind := range kinds {
		var err error
		if places[kind], err = pipelines.LastOf(ctx, c.stream, kind); err != nil {
			return nil, err
		}
	}
	return places, nil
}

// StreamEnd is how far the stream is.
func (c *Client) StreamEnd(ctx context.Context) (uint64, error) {
	stream, err := c.streamInfo(ctx)
	if err != nil {
		return 0, err
	}
	return stream.State.LastSeq, nil
}
