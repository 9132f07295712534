package doctor

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/tensortap/tensortap/analysis/report"
	"github.com/tensortap/tensortap/internal/plural"
	"github.com/tensortap/tensortap/internal/system"
	"github.com/tensortap/tensortap/pipelines"
)

func (e *examination) stream(ctx context.Context, endpoint system.Endpoint) error {
	client, err := system.ConnectStream(endpoint, e.in.Now)
	if err != nil {
		return err
	}
	defer client.Close()
	js := client.JetStream()
	asked := e.in.Now()
	events, err := js.Stream(ctx, pipelines.StreamName)
	answered := e.in.Now()
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		e.wrong("stream", "start a system or a consumer, which makes it: tensortap up", "the server answers, and has no stream %s", pipelines.StreamName)
		return nil
	}
	if err != nil {
		return fmt.Errorf("look at stream %s: %w", pipelines.StreamName, err)
	}
	info := events.CachedInfo()
	e.room(info)
	e.ownClock(skew(asked, answered, info.TimeStamp))
	return errors.Join(e.lags(ctx, js), e.deadLetters(ctx, js), e.signs(ctx, js), e.roles(ctx, js))
}

// nearlyFull is the part of its limit at which a stream is as good as full.
const nearlyFull = 0.9

// room holds the stream against its limit, and what it may still take against the disk.
func (e *examination) room(info *jetstream.StreamInfo) {
	const remedy = "give it more with --stream-bytes of tensortap up, or see that the consumers keep up: they make room only as events grow old"
	used, limit := info.State.Bytes, info.Config.MaxBytes
	switch {
	case limit > 0 && float64(used) >= nearlyFull*float64(limit):
		e.wrong("stream", remedy, "it holds %s of %s; once it is full, publishers wait", report.Size(used), inWords(limit))
	default:
		e.well("stream", "it holds %s, %s of %s", plural.Of(info.State.Msgs, "message"), report.Size(used), inWords(limit))
	}
	if gone := info.State.NumDeleted; gone > 0 {
		e.wrong("stream", "tensortap verify says what is lost, and --heal mends what can be", "%s in its midst %s gone", plural.Of(gone, "message"), plural.Verb(gone, "is", "are"))
	}
	disk, err := e.in.Folder.Room()
	if left := limit - int64(used); err == nil && !e.in.Elsewhere && left > disk.FreeBytes { //nolint:gosec // no stream is that large
		e.wrong("disk", "make room, or give the stream less with --stream-bytes", "the stream may still take %s, and %s are free", inWords(left), inWords(disk.FreeBytes))
	}
}

// mostLag is the age of an event that a store has not taken, from which on the store is behind.
const mostLag = time.Minute

func (e *examination) lags(ctx context.Context, js jetstream.JetStream) error {
	lags, err := pipelines.Lags(ctx, js, e.in.Now)
	for _, l := range lags {
		switch behind := l.Waiting(); {
		case l.Age > mostLag:
			e.wrong("consumer "+l.Consumer, "see whether it runs and its store answers", "it is %v behind the stream, by %s", l.Age.Round(time.Second), plural.Of(behind, "message"))
		default:
			e.well("consumer "+l.Consumer, "it is %s behind the stream", plural.Of(behind, "message"))
		}
	}
	if err == nil && len(lags) == 0 {
		e.wrong("stream", "tensortap up", "it has no consumer, so that nothing is stored")
	}
	return err
}

func (e *examination) deadLetters(ctx context.Context, js jetstream.JetStream) error {
	dead, err := js.Stream(ctx, pipelines.DeadStreamName)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look at stream %s: %w", pipelines.DeadStreamName, err)
	}
	if count := dead.CachedInfo().State.Msgs; count > 0 {
		e.wrong("dead letters", "tensortap report dead-letters says which and why", "%s could not be stored", plural.Of(count, "message"))
		return nil
	}
	e.well("dead letters", "there are none")
	return nil
}
