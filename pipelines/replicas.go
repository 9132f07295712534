package pipelines

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"
)

// prepareBuckets makes the buckets, each kept by at least that many servers.
func prepareBuckets(ctx context.Context, js jetstream.JetStream, replicas int, buckets ...jetstream.KeyValueConfig) error {
	for _, want := range buckets {
		want.Replicas = replicas
		if _, err := openBucket(ctx, js, want); err != nil {
			return err
		}
		if err := replicate(ctx, js, "KV_"+want.Bucket, replicas); err != nil {
			return fmt.Errorf("prepare bucket %s: %w", want.Bucket, err)
		}
	}
	return nil
}

// replicate has at least that many servers keep a stream.
func replicate(ctx context.Context, js jetstream.JetStream, name string, replicas int) error {
	if replicas <= 1 {
		return nil
	}
	stream, err := js.Stream(ctx, name)
	if err != nil {
		return err
	}
	next := stream.CachedInfo().Config
	if next.Replicas >= replicas {
		return nil
	}
	next.Replicas = replicas
	_, err = js.UpdateStream(ctx, next)
	return tooFew(replicas, err)
}

// ErrTooFewServers is the refusal to keep replicas.
var ErrTooFewServers = errors.New("NATS servers in one cluster that have JetStream and room")

// Codes of a cluster's refusals, which NATS has no names for.
const (
	noPeers  = 10005
	electing = 10008
)

// tooFew says what the server's refusal to keep replicas means.
func tooFew(replicas int, err error) error {
	if replicas <= 1 || !errors.As(err, new(jetstream.JetStreamError)) || hasCode(err, electing) {
		return err
	}
	return fmt.Errorf("%d replicas need %[1]d %w: %w", replicas, ErrTooFewServers, err)
}

// MayForm says whether the refusal may be of a cluster that starts: a leader places nothing on servers that it has not heard
// of yet, and says no more than where they never come.
func MayForm(err error) bool { return errors.Is(err, ErrTooFewServers) && hasCode(err, noPeers) }

func hasCode(err error, code jetstream.ErrorCode) bool {
	var refused jetstream.JetStreamError
	return errors.As(err, &refused) && refused.APIError() != nil && refused.APIError().ErrorCode == code
}

// openBucket makes the bucket if it is not there. Settings of one that is there (replicas, placement …) are its
// administrator's.
func openBucket(ctx context.Context, js jetstream.JetStream, want jetstream.KeyValueConfig) (jetstream.KeyValue, error) {
	bucket, err := js.KeyValue(ctx, want.Bucket)
	if errors.Is(err, jetstream.ErrBucketNotFound) {
		bucket, err = js.CreateKeyValue(ctx, want)
	}
	if errors.Is(err, jetstream.ErrBucketExists) { // made by another program meanwhile
		bucket, err = js.KeyValue(ctx, want.Bucket)
	}
	if err != nil {
		return nil, fmt.Errorf("prepare bucket %s: %w", want.Bucket, tooFew(want.Replicas, err))
	}
	return bucket, nil
}
