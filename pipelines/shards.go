package pipelines

import (
	"context"
	"fmt"
	"strings"

	"github.com/nats-io/nats.go/jetstream"
)

// Shards is in how many parts a stream is shared out among writers. It never changes, else messages of one rank would be in two.
const Shards = 8

const (
	publishedPrefix = "tap."
	shardPrefix     = "tapshard."
)

// sharding has the server put each message into a shard as it takes it: all of a rank of a run into the same. Publishers
// know nothing of it.
func sharding() *jetstream.SubjectTransformConfig {
	return &jetstream.SubjectTransformConfig{
		Source:      publishedPrefix + "*.*.*",
		Destination: fmt.Sprintf("%s{{partition(%d,2,3)}}.{{wildcard(1)}}.{{wildcard(2)}}.{{wildcard(3)}}", shardPrefix, Shards),
	}
}

// ShardSubjects is where the messages of a shard lie. The first has those, too, that came before the stream was shared
// out, and what no producer publishes.
func ShardSubjects(shard int) []string {
	of := []string{fmt.Sprintf("%s%d.>", shardPrefix, shard)}
	if shard == 0 {
		of = append(of, subjects)
	}
	return of
}

// InAnyShard is where messages lie that were published under such subjects, but for tap. before them, whether the stream was
// shared out then or not.
func InAnyShard(rest string) []string {
	return []string{publishedPrefix + rest, shardPrefix + "*." + rest}
}

// Published is where a message was published that lies under the subject.
func Published(subject string) string {
	rest, sharded := strings.CutPrefix(subject, shardPrefix)
	if !sharded {
		return subject
	}
	_, rest, _ = strings.Cut(rest, ".")
	return publishedPrefix + rest
}

// Unsharded says whether the stream has messages that came before it was shared out.
func Unsharded(ctx context.Context, js jetstream.JetStream) (bool, error) {
	stream, err := js.Stream(ctx, StreamName)
	if err != nil {
		return false, fmt.Errorf("look for messages without a shard: %w", err)
	}
	info, err := stream.Info(ctx, jetstream.WithSubjectFilter(subjects))
	if err != nil {
		return false, fmt.Errorf("look for messages without a shard: %w", err)
	}
	return len(info.State.Subjects) > 0, nil
}
