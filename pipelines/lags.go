package pipelines

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// mostConsumers bounds how many durable consumers are looked at: others may use the same stream.
const mostConsumers = 64

// Lag is how far a durable consumer is behind the stream.
type Lag struct {
	Consumer string
	Progress
	Age time.Duration // of the oldest message that it has not stored
}

// Lags are those of all durable consumers of the stream, of 64 at most.
func Lags(ctx context.Context, js jetstream.JetStream, now func() time.Time) ([]Lag, error) {
	stream, err := js.Stream(ctx, StreamName)
	if err != nil {
		return nil, fmt.Errorf("look at the consumers of the stream: %w", err)
	}
	consumers, err := durableConsumers(ctx, stream)
	if err != nil {
		return nil, fmt.Errorf("look at the consumers of the stream: %w", err)
	}
	consumers = consumers[:min(mostConsumers, len(consumers))]
	lags := make([]Lag, len(consumers))
	for i, info := range consumers {
		lags[i] = Lag{Consumer: info.Name, Progress: progressOf(info)}
		oldest, err := oldestOf(ctx, stream, info)
		if err != nil {
			return nil, err
		}
		if !oldest.IsZero() {
			lags[i].Age = max(0, now().Sub(oldest))
		}
	}
	return lags, nil
}

// durableConsumers are those that outlive their processes.
func durableConsumers(ctx context.Context, stream jetstream.Stream) (found []*jetstream.ConsumerInfo, err error) {
	list := stream.ListConsumers(ctx)
	for info := range list.Info() {
		if info.Config.Durable != "" {
			found = append(found, info)
		}
	}
	return found, list.Err()
}

// oldestOf is when the first message that a consumer has not stored came into the stream; the zero time where there is none.
func oldestOf(ctx context.Context, stream jetstream.Stream, consumer *jetstream.ConsumerInfo) (oldest time.Time, err error) {
	if progressOf(consumer).CaughtUp() {
		return oldest, nil
	}
	for _, subject := range taken(&consumer.Config) {
		// The message next to the stored ones may be another shard's, and stored long ago.
		m, err := stream.GetMsg(ctx, consumer.AckFloor.Stream+1, jetstream.WithGetMsgSubject(subject))
		if errors.Is(err, jetstream.ErrMsgNotFound) { // stored meanwhile, or gone
			continue
		}
		if err != nil {
			return oldest, fmt.Errorf("look how far %s is behind: %w", consumer.Name, err)
		}
		if oldest.IsZero() || m.Time.Before(oldest) {
			oldest = m.Time
		}
	}
	return oldest, nil
}

// taken are the subjects of which a consumer is given messages.
func taken(c *jetstream.ConsumerConfig) []string {
	switch {
	case len(c.FilterSubjects) > 0:
		return c.FilterSubjects
	case c.FilterSubject != "":
		return []string{c.FilterSubject}
	}
	return []string{">"}
}
