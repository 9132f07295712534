package system

import (
	"context"
	"errors"
	"fmt"

	"github.com/tensortap/tensortap/consumers/clickhouse"
	"github.com/tensortap/tensortap/pipelines"
)

// Replay says what a starting system stores once more from the stream.
type Replay uint8

// The ways to start.
const (
	ReplayNothing Replay = iota
	ReplayMissing        // deliver all again; what is stored is left as it is
	ReplayRebuild        // empty the tables of the database first
)

// ErrStreamCut says that the stream no longer begins at its first message, so
// that tables cannot be made from it alone.
var ErrStreamCut = errors.New("the stream no longer holds its first messages")

// ErrStreamDamaged says that the stream lacks batches that the tables or the archive have.
var ErrStreamDamaged = errors.New("the stream lacks events that the tables or the archive have")

// replay has the stream delivered again, where that was asked for or the archive lost something.
func (s *System) replay(ctx context.Context, client *Client, store *archive) error {
	if s.cfg.Replay == ReplayRebuild {
		if err := s.mayEmpty(ctx, client, store); err != nil {
			return fmt.Errorf("empty the tables: %w; nothing was changed; replay without --rebuild to fill what is missing", err)
		}
	}
	var again []string
	if s.cfg.Replay != ReplayNothing {
		again = append(again, databaseConsumer)
	}
	if store != nil && (store.damaged || s.cfg.Replay != ReplayNothing) {
		again = append(again, archiveConsumer)
	}
	for _, consumer := range again {
		if err := pipelines.Replay(ctx, client.stream, s.pipelines(), consumer); err != nil {
			return err
		}
	}
	if s.cfg.Replay != ReplayRebuild {
		return nil
	}
	// Only now: should this process end half-way, the next start fills the tables again.
	return clickhouse.Empty(ctx, client.database)
}

// mayEmpty checks that the stream has all that the tables and the archive have.
func (s *System) mayEmpty(ctx context.Context, client *Client, store *archive) error {
	stream, err := client.stream.Stream(ctx, pipelines.StreamName)
	if err != nil {
		return fmt.Errorf("look at the stream: %w", err)
	}
	state := stream.CachedInfo().State
	if state.FirstSeq > 1 || state.Msgs == 0 {
		return fmt.Errorf("%w (it holds %d, from %d on)", ErrStreamCut, state.Msgs, state.FirstSeq)
	}
	held, err := pipelines.Held(ctx, client.stream)
	if err != nil {
		return err
	}
	tables, err := clickhouse.Held(ctx, client.database)
	if err != nil {
		return err
	}
	lost := held.LacksOf(tables)
	if store != nil {
		lost = append(lost, held.LacksOf(store.writer.Held())...)
	}
	if len(lost) == 0 {
		return nil
	}
	return fmt.Errorf("%w: %s", ErrStreamDamaged, client.describe(ctx, lost))
}
