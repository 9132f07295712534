package pipelines

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/nats-io/nats.go/jetstream"
)

const (
	subjects     = "tap.>"
	deadSubjects = "dead.>"
)

// Prepare makes the streams, the bucket of sources and the durable consumers, or changes them to
// these settings. It may be called at any time, by several programs. A change that would lose
// events is an error.
func Prepare(ctx context.Context, js jetstream.JetStream, cfg Config) error {
	if err := cfg.Validate(); err != nil {
		return fmt.Errorf("prepare streams: %w", err)
	}
	// A server with less, as NATS has by default, would turn large batches into dead letters.
	if most := js.Conn().MaxPayload(); most < maxWireBytes {
		return fmt.Errorf("prepare streams: the NATS server takes messages of %d bytes, want at least %d: set its max_payload", most, maxWireBytes)
	}
	for _, want := range []jetstream.StreamConfig{cfg.Stream.stream(), cfg.Stream.deadStream()} {
		if err := prepareStream(ctx, js, want); err != nil {
			return err
		}
	}
	if err := prepareBuckets(ctx, js, cfg.Stream.Replicas, cfg.Stream.buckets()...); err != nil {
		return err
	}
	for _, name := range cfg.Stream.Consumers {
		if _, err := PrepareConsumer(ctx, js, cfg.Stream, name); err != nil {
			return err
		}
	}
	return nil
}

// buckets are those that are needed at once; whoever needs another makes it, but as one server alone would keep it.
func (c StreamConfig) buckets() []jetstream.KeyValueConfig {
	all := []jetstream.KeyValueConfig{{
		Bucket: SourceBucket, Description: "content published for each step of a rank", Storage: jetstream.FileStorage,
	}}
	if c.Replicas > 1 {
		all = append(all, leaseBucket(), fateBucket())
	}
	return all
}

func (c StreamConfig) stream() jetstream.StreamConfig {
	s := c.keep(jetstream.StreamConfig{
		Name: StreamName, Description: "events, the log of record", Subjects: []string{subjects},
		MaxBytes: c.MaxBytes, MaxAge: c.MaxAge, AllowAtomicPublish: true,
	})
	if c.Sharded {
		s.SubjectTransform = sharding()
	}
	return s
}

func (c StreamConfig) deadStream() jetstream.StreamConfig {
	return c.keep(jetstream.StreamConfig{
		Name: DeadStreamName, Description: "messages that could not be stored, as they came", Subjects: []string{deadSubjects},
		MaxBytes: c.DeadMaxBytes, MaxAge: c.DeadMaxAge,
	})
}

// keep sets that nothing vanishes silently from either stream: no acknowledgement and no newer
// message removes a message.
func (c StreamConfig) keep(s jetstream.StreamConfig) jetstream.StreamConfig {
	s.Retention = jetstream.LimitsPolicy
	s.Storage = jetstream.FileStorage
	s.Discard = jetstream.DiscardNew
	s.MaxMsgs = -1
	s.MaxMsgsPerSubject = -1
	s.MaxMsgSize = maxWireBytes
	s.Duplicates = c.DuplicateWindow
	s.Replicas = max(1, c.Replicas)
	return s
}

func prepareStream(ctx context.Context, js jetstream.JetStream, want jetstream.StreamConfig) error {
	stream, err := js.Stream(ctx, want.Name)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		if _, err = js.CreateStream(ctx, want); err != nil {
			return fmt.Errorf("create stream %s of %d bytes: %w", want.Name, want.MaxBytes, tooFew(want.Replicas, err))
		}
		return nil
	}
	if err != nil {
		return fmt.Errorf("look up stream %s: %w", want.Name, err)
	}
	info := stream.CachedInfo()
	next := merge(info.Config, want)
	if same(info.Config, next) {
		return nil
	}
	if info.State.Bytes > uint64(next.MaxBytes) {
		return fmt.Errorf("limit stream %s to %d bytes: it holds %d, which would be deleted", want.Name, next.MaxBytes, info.State.Bytes)
	}
	if _, err := js.UpdateStream(ctx, next); err != nil {
		return fmt.Errorf("change settings of stream %s: %w", want.Name, tooFew(want.Replicas, err))
	}
	return nil
}

// merge is the existing stream with the settings we depend on. All else
// (more replicas, placement …) is its administrator's. Its age is never lowered,
// since that deletes events.
func merge(have, want jetstream.StreamConfig) jetstream.StreamConfig {
	next := have
	next.Subjects, next.Retention, next.Storage, next.Discard = want.Subjects, want.Retention, want.Storage, want.Discard
	next.MaxBytes, next.MaxMsgs, next.MaxMsgsPerSubject = want.MaxBytes, want.MaxMsgs, want.MaxMsgsPerSubject
	next.MaxMsgSize, next.Duplicates = want.MaxMsgSize, want.Duplicates
	next.NoAck, next.DiscardNewPerSubject = false, false
	next.Replicas = max(have.Replicas, want.Replicas)
	if want.SubjectTransform != nil {
		next.SubjectTransform = want.SubjectTransform
	}
	next.AllowAtomicPublish = have.AllowAtomicPublish || want.AllowAtomicPublish
	if have.MaxAge != 0 {
		next.MaxAge = max(have.MaxAge, want.MaxAge)
	}
	return next
}

func same(a, b jetstream.StreamConfig) bool {
	return slices.Equal(a.Subjects, b.Subjects) &&
		a.Retention == b.Retention && a.Storage == b.Storage && a.Discard == b.Discard &&
		a.MaxBytes == b.MaxBytes && a.MaxMsgs == b.MaxMsgs && a.MaxMsgsPerSubject == b.MaxMsgsPerSubject &&
		a.MaxMsgSize == b.MaxMsgSize && a.Duplicates == b.Duplicates && a.MaxAge == b.MaxAge &&
		a.Replicas == b.Replicas && sameTransform(a.SubjectTransform, b.SubjectTransform) &&
		a.AllowAtomicPublish == b.AllowAtomicPublish && a.NoAck == b.NoAck && a.DiscardNewPerSubject == b.DiscardNewPerSubject
}

func sameTransform(a, b *jetstream.SubjectTransformConfig) bool {
	return a == b || a != nil && b != nil && *a == *b
}

// PrepareConsumer makes a durable consumer of the stream, or changes it to these settings.
func PrepareConsumer(ctx context.Context, js jetstream.JetStream, cfg StreamConfig, name string) (jetstream.Consumer, error) {
	consumer, err := js.CreateOrUpdateConsumer(ctx, StreamName, jetstream.ConsumerConfig{
		Durable:       name,
		DeliverPolicy: jetstream.DeliverAllPolicy,
		AckPolicy:     jetstream.AckExplicitPolicy,
		AckWait:       cfg.AckWait,
		MaxAckPending: cfg.MaxAckPending,
		// The server must not count deliveries: with a limit, a store that is
		// down for minutes makes messages vanish while nothing seems pending.
		MaxDeliver:        -1,
		FilterSubjects:    cfg.Subjects,
		InactiveThreshold: cfg.Forget,
	})
	if err != nil {
		return nil, fmt.Errorf("prepare consumer %s of stream %s: %w", name, StreamName, err)
	}
	return consumer, nil
}
