package pipelines

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/tensortap/tensortap/schemas"
)

// AlertBucket holds the silences of alerts, and what each receiver was told.
const AlertBucket = "tap_alerts"

// OpenAlertBucket opens the bucket, and makes it where there is none.
func OpenAlertBucket(ctx context.Context, js jetstream.JetStream) (jetstream.KeyValue, error) {
	return openBucket(ctx, js, jetstream.KeyValueConfig{
		Bucket: AlertBucket, Description: "silences of alerts, and what receivers were told", Storage: jetstream.FileStorage,
	})
}

// LastOf is the place in the stream of the last message of a kind; 0 where it has none.
func LastOf(ctx context.Context, js jetstream.JetStream, kind string) (last uint64, err error) {
	return placeOfLast(ctx, js, kind+".>")
}

// LastOfRun is the place in the stream of the last message of a run; 0 where it has none.
func LastOfRun(ctx context.Context, js jetstream.JetStream, runID uint64) (uint64, error) {
	return placeOfLast(ctx, js, "*."+schemas.FormatID(runID)+".*")
}

func placeOfLast(ctx context.Context, js jetstream.JetStream, rest string) (uint64, error) {
	m, err := LastUnder(ctx, js, rest)
	if m == nil || err != nil {
		return 0, err
	}
	return m.Sequence, nil
}

// LastUnder is the last message that was published under such subjects, but for tap. before them; nil where there is none.
func LastUnder(ctx context.Context, js jetstream.JetStream, rest string) (last *jetstream.RawStreamMsg, err error) {
	stream, err := js.Stream(ctx, StreamName)
	if err != nil {
		return nil, fmt.Errorf("look for the last message under %s: %w", rest, err)
	}
	for _, subject := range InAnyShard(rest) {
		m, err := stream.GetLastMsgForSubject(ctx, subject)
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("look for the last message under %s: %w", subject, err)
		}
		if last == nil || m.Sequence > last.Sequence {
			last = m
		}
	}
	return last, nil
}

// StreamRoom is how many bytes the stream holds, and may hold; 0 where nothing bounds it.
func StreamRoom(ctx context.Context, js jetstream.JetStream) (used, most uint64, err error) {
	stream, err := js.Stream(ctx, StreamName)
	if err != nil {
		return 0, 0, fmt.Errorf("look for the room of the stream: %w", err)
	}
	info := stream.CachedInfo()
	return info.State.Bytes, uint64(max(0, info.Config.MaxBytes)), nil //nolint:gosec // not negative
}
