package retention

import (
	"context"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/tensortap/tensortap/pipelines"
	"github.com/tensortap/tensortap/schemas"
)

// Stream is where deleted runs are removed from first.
type Stream struct {
	JetStream jetstream.JetStream
	// Note notes durably which messages are about to be removed from the stream that was made then and begins at first: what is
	// gone and was not noted was lost.
	Note func(ctx context.Context, runID uint64, part string, madeNs int64, first uint64, places *schemas.BatchSet) error
}

// Purge removes what the stream has of a part of a run, also what came of it since that was decided.
func (s *Stream) Purge(ctx context.Context, runID uint64, part string) error {
	stream, err := s.JetStream.Stream(ctx, pipelines.StreamName)
	if err != nil {
		return fmt.Errorf("look at the stream: %w", err)
	}
	info := stream.CachedInfo()
	places, kinds, err := pipelines.Places(ctx, s.JetStream, runID, func(kind string) bool { return Goes(part, kind) })
	if err != nil || places.Count() == 0 {
		return err
	}
	if err := s.Note(ctx, runID, part, info.Created.UnixNano(), info.State.FirstSeq, &places); err != nil {
		return err
	}
	last := uint64(0)
	for span := range places.Spans() {
		last = span.Last
	}
	return pipelines.PurgeRun(ctx, s.JetStream, runID, kinds, last)
}
