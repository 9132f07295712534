package system

import (
	"context"

	"github.com/tensortap/tensortap/analysis/ask"
)

// Reading is a client of the same stream that asks the database as the user who may only read. The caller closes it
// before the client it comes from.
func (c *Client) Reading(ctx context.Context) (*Client, error) {
	database, err := connectDatabase(ctx, c.Endpoint, c.Endpoint.Reader)
	if err != nil {
		return nil, err
	}
	reading := *c
	reading.database, reading.Door, reading.borrowed = database, ask.Open(database), true
	return &reading, nil
}

// UntilMoved returns when ctx ends, or with ErrMoved once another system runs on the client's folder.
func (c *Client) UntilMoved(ctx context.Context) error { return c.untilMoved(ctx) }
