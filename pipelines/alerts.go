package pipelines

import (
	"context"
	"errors"
	"fmt"
	"time"

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
func LastOf(ctx context.Context, js jetstream.JetStream, kind string) (uint64, error) {
	stream, err := js.Stream(ctx, StreamName)
	if err != nil {
		return 0, fmt.Errorf("look for the last %s: %w", kind, err)
	}
	last, err := stream.GetLastMsgForSubject(ctx, schemas.SubjectsOf(kind))
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("look for the last %s: %w", kind, err)
	}
	return last.Sequence, nil
}

// Behind is how long the oldest message has been in the stream that the consumer has not stored, and how many it has not.
func Behind(ctx context.Context, js jetstream.JetStream, consumer string, now time.Time) (time.Duration, uint64, error) {
	p, err := ConsumerProgress(ctx, js, consumer)
	if err != nil || p.CaughtUp() {
		return 0, 0, err
	}
	stream, err := js.Stream(ctx, StreamName)
	if err != nil {
		return 0, 0, fmt.Errorf("look how far %s is behind: %w", consumer, err)
	}
	info := stream.CachedInfo().State
	published := info.FirstTime
	if next := p.StoredUpTo + 1; next > info.FirstSeq {
		oldest, err := stream.GetMsg(ctx, next)
		if errors.Is(err, jetstream.ErrMsgNotFound) { // stored by now, or deleted
			return 0, 0, nil
		}
		if err != nil {
			return 0, 0, fmt.Errorf("look how far %s is behind: %w", consumer, err)
		}
		published = oldest.Time
	}
	return max(0, now.Sub(published)), p.Undelivered + uint64(p.Unacknowledged), nil //nolint:gosec // a count
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
