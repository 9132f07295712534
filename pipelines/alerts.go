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
	stream, err := js.Stream(ctx, StreamName)
	if err != nil {
		return 0, fmt.Errorf("look for the last %s: %w", kind, err)
	}
	// Before the stream was shared out, and since.
	for _, subject := range []string{schemas.SubjectsOf(kind), shardPrefix + "*." + kind + ".>"} {
		m, err := stream.GetLastMsgForSubject(ctx, subject)
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			continue
		}
		if err != nil {
			return 0, fmt.Errorf("look for the last %s: %w", kind, err)
		}
		last = max(last, m.Sequence)
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
