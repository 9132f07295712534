package simulation

import (
	"context"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// frugal is the client with one setting of its own: for any number of messages it makes a channel of 8 MB each time that
// it begins to read, and to clear that was a third of the time of all worlds.
type frugal struct{ jetstream.JetStream }

// CreateOrUpdateConsumer implements jetstream.JetStream.
func (f frugal) CreateOrUpdateConsumer(ctx context.Context, stream string, cfg jetstream.ConsumerConfig) (jetstream.Consumer, error) {
	consumer, err := f.JetStream.CreateOrUpdateConsumer(ctx, stream, cfg)
	if err != nil {
		return nil, err
	}
	return frugalConsumer{consumer}, nil
}

type frugalConsumer struct{ jetstream.Consumer }

// Messages implements jetstream.Consumer.
func (f frugalConsumer) Messages(...jetstream.PullMessagesOpt) (jetstream.MessagesContext, error) {
	const most, bytes = 4096, 16 << 20
	return f.Consumer.Messages(jetstream.PullMaxMessagesWithBytesLimit(most, bytes), jetstream.PullHeartbeat(5*time.Second))
}
