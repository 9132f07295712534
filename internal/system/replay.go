package system

import (
	"context"
	"errors"

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

// replay has the stream delivered again, where that was asked for.
func (s *System) replay(ctx context.Context, client *Client, store *archive) error {
	var again []string
	switch s.cfg.Replay {
	case ReplayRebuild:
		if err := s.rebuild(ctx, client, store); err != nil {
			return err
		}
	case ReplayMissing:
		again = append(again, databaseConsumer)
	case ReplayNothing:
	}
	if store != nil && s.cfg.Replay != ReplayNothing {
		again = append(again, archiveConsumer)
	}
	for _, consumer := range again {
		if err := pipelines.Replay(ctx, client.stream, s.pipelines(), consumer); err != nil {
			return err
		}
	}
	return nil
}
