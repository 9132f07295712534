package system

import (
	"context"
	"fmt"

	"github.com/tensortap/tensortap/analysis/judging"
	"github.com/tensortap/tensortap/pipelines"
	"github.com/tensortap/tensortap/schemas"
)

// Basis is what answers about runs rest on.
type Basis struct {
	Text string // another once an event of one of the runs has come, or of any run where none was named
	Last uint64 // place in the stream of the last of these
}

// Basis looks what an answer about these runs would rest on, once the database holds the stream up to its last event.
func (c *Client) Basis(ctx context.Context, runs ...string) (b Basis, err error) {
	stream, err := c.streamInfo(ctx)
	if err != nil {
		return b, err
	}
	b.Text = fmt.Sprint(stream.Created.UnixNano()) // another stream counts anew
	if len(runs) == 0 {
		b.Last = stream.State.LastSeq
		b.Text += fmt.Sprint(" ", b.Last)
	}
	for _, run := range runs {
		last, err := pipelines.LastOfRun(ctx, c.stream, schemas.RunID(run))
		if err != nil {
			return b, err
		}
		b.Last = max(b.Last, last)
		b.Text += fmt.Sprint(" ", last)
	}
	return b, nil
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
