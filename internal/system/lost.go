package system

import (
	"context"
	"time"

	"github.com/rs/zerolog"

	"github.com/tensortap/tensortap/pipelines"
)

// spansTold bounds the length of a log line, caughtUpEvery is how often to ask.
const (
	spansTold     = 20
	caughtUpEvery = time.Second
)

// reportLost says what damage took from the archive for good, once it was
// given again what the stream held at the start.
func (s *System) reportLost(ctx context.Context, client *Client, store *archive) {
	stream, err := client.stream.Stream(ctx, pipelines.StreamName)
	if err == nil {
		err = pipelines.WaitStored(ctx, client.stream, stream.CachedInfo().State.LastSeq, caughtUpEvery, archiveConsumer)
	}
	if ctx.Err() != nil {
		return // the next start says it
	}
	if err != nil {
		s.cfg.Log.Warn().Err(err).Msg("not known whether the archive holds again what damage took")
		return
	}
	missing := store.writer.Missing()
	var batches uint64
	spans := zerolog.Arr()
	for i, span := range missing {
		batches += span.Count()
		if i < spansTold {
			spans.Str(span.String())
		}
	}
	if batches > 0 {
		s.cfg.Log.Warn().Uint64("batches", batches).Array("missing", spans).
			Msg("the archive lacks events that it held, the stream no longer has them")
	}
}
