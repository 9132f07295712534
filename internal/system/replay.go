package system

import (
	"context"
	"errors"

	"github.com/tensortap/tensortap/consumers/clickhouse"
	"github.com/tensortap/tensortap/internal/audit"
	"github.com/tensortap/tensortap/pipelines"
)

// Replay says what a starting system stores once more from the stream.
type Replay uint8

// The ways to start.
const (
	ReplayNothing Replay = iota
	ReplayMissing        // deliver all again; what is stored is left as it is
	ReplayRebuild        // fill new tables, and put them in the place of the old ones
)

// ErrStreamCut says that the stream no longer begins at its first message, so
// that tables cannot be made from it alone.
var ErrStreamCut = errors.New("the stream no longer holds its first messages")

// ErrStreamDamaged says that the stream lacks batches that the tables or the archive have.
var ErrStreamDamaged = errors.New("the stream lacks events that the tables or the archive have")

// replay has the stream delivered again, where that was asked for, and writes that down. New tables are filled beside the old ones
// before: that changes nothing.
func (s *System) replay(ctx context.Context, client *Client, store *archive) error {
	if s.cfg.Replay == ReplayNothing {
		return nil
	}
	var next *clickhouse.Rebuild
	var refused error
	if s.cfg.Replay == ReplayRebuild {
		next, refused = s.refill(ctx, client, store)
	}
	again := func() error {
		if refused != nil {
			return refuseRebuild(refused)
		}
		return s.storeAgain(ctx, client, store, next)
	}
	if s.cfg.Restoring {
		return again()
	}
	return s.audited(ctx, client, again)
}

// audited does it between two lines of audit. That a full stream has no room for these does not keep stores from being mended.
func (s *System) audited(ctx context.Context, client *Client, again func() error) error {
	var failed error
	err := client.Audited(ctx, s.replayDeed(), func() error {
		failed = again()
		return failed
	})
	if failed == nil && errors.Is(err, audit.ErrNoRoom) {
		s.cfg.Log.Warn().Err(err).Msg("the stream is full, so the replay is not written down")
		return nil
	}
	return err
}

func (s *System) replayDeed() audit.Deed {
	deed := audit.Deed{Name: "replay"}
	if s.cfg.Replay == ReplayRebuild {
		deed.Target = "new tables"
	}
	return deed
}

// storeAgain puts new tables in the place of the old ones, where there are any, and has the rest stored from the stream.
func (s *System) storeAgain(ctx context.Context, client *Client, store *archive, next *clickhouse.Rebuild) error {
	var consumers []string
	if next == nil {
		consumers = append(consumers, databaseConsumer)
	} else if err := s.exchange(ctx, client, next); err != nil {
		return err
	}
	if store != nil {
		consumers = append(consumers, archiveConsumer)
	}
	for _, consumer := range consumers {
		if err := pipelines.Replay(ctx, client.stream, s.pipelines(), consumer); err != nil {
			return err
		}
	}
	return nil
}
