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
// that tables cannot be made from it alone. The caller replays what is missing
// instead.
var ErrStreamCut = errors.New("the stream no longer holds its first messages")

// replay has the stream delivered again, where that was asked for or the archive lost something.
func (s *System) replay(ctx context.Context, client *Client, store *archive) error {
	if s.cfg.Replay == ReplayRebuild {
		if err := whole(ctx, client); err != nil {
			return err
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

// whole checks that the stream can fill the tables again.
func whole(ctx context.Context, client *Client) error {
	stream, err := client.stream.Stream(ctx, pipelines.StreamName)
	if err != nil {
		return fmt.Errorf("look at the stream: %w", err)
	}
	state := stream.CachedInfo().State
	if state.FirstSeq > 1 || state.Msgs == 0 {
		return fmt.Errorf("empty the tables: %w (it holds %d, from %d on): replay without --rebuild", ErrStreamCut, state.Msgs, state.FirstSeq)
	}
	return nil
}
