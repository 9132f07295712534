package system

import (
	"context"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/tensortap/tensortap/analysis/ask"
	"github.com/tensortap/tensortap/pipelines"
)

// waitEvery is how often the stream is asked how far a store has come.
const waitEvery = 5 * time.Millisecond

// WaitStored returns when the database holds all that the stream holds now.
func (c *Client) WaitStored(ctx context.Context) error {
	if err := c.waitTables(ctx, 0, waitEvery); err != nil {
		return fmt.Errorf("wait for the database: %w", err)
	}
	return nil
}

// patience is how long an answer waits for what was published just before it was asked for.
const patience = 5 * time.Second

// streamInfo is how the stream is now.
func (c *Client) streamInfo(ctx context.Context) (*jetstream.StreamInfo, error) {
	stream, err := c.stream.Stream(ctx, pipelines.StreamName)
	if err != nil {
		return nil, fmt.Errorf("look at the stream: %w", err)
	}
	return stream.CachedInfo(), nil
}

// WaitCurrent returns when the database holds what the stream held at the
// call. Its error says that it does not after some seconds, or that ctx ended.
func (c *Client) WaitCurrent(ctx context.Context) error { return c.waitCurrent(ctx, patience) }

// waitCurrent is WaitCurrent with a patience of its own.
func (c *Client) waitCurrent(ctx context.Context, patience time.Duration) error {
	stream, err := c.streamInfo(ctx)
	if err != nil {
		return err
	}
	return c.waitFor(ctx, stream.State.LastSeq, patience)
}

// WaitFor is WaitCurrent for what the stream holds up to that place.
func (c *Client) WaitFor(ctx context.Context, last uint64) error {
	return c.waitFor(ctx, last, patience)
}

func (c *Client) waitFor(ctx context.Context, last uint64, patience time.Duration) error {
	if last == 0 {
		return nil
	}
	waiting, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := c.waitTables(waiting, last, waitEvery); err != nil {
		return fmt.Errorf("the database is behind the stream: %w", err)
	}
	return nil
}

// WaitReplayed returns, after a start with Replay, when every store holds all
// of the stream, and how many messages that is. It tells why it waits for the
// stream's servers, and nil when that is over.
func (c *Client) WaitReplayed(ctx context.Context, progress func(done, all int64), waiting func(error)) (messages uint64, err error) {
	err = patiently(ctx, waiting, func() error {
		messages, err = c.waitReplayed(ctx, progress)
		return err
	})
	return messages, err
}

func (c *Client) waitReplayed(ctx context.Context, progress func(done, all int64)) (uint64, error) {
	stream, err := c.streamInfo(ctx)
	if err != nil {
		return 0, err
	}
	messages := stream.State.Msgs
	progress(0, int64(messages)) //nolint:gosec // a count of messages
	for _, consumer := range []string{databaseConsumer, archiveConsumer} {
		if err := pipelines.WaitStored(ctx, c.stream, 0, 10*waitEvery, consumer); err != nil {
			return 0, err
		}
	}
	progress(int64(messages), int64(messages)) //nolint:gosec // a count of messages
	return messages, nil
}

// OpenReader reaches the database alone, as the user who may only read. The caller closes it.
func OpenReader(ctx context.Context, e Endpoint) (*ask.Door, error) {
	database, err := connectDatabase(ctx, e, e.Reader)
	if err != nil {
		return nil, err
	}
	return ask.Open(database), nil
}
