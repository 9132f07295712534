package pipelines

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/tensortap/tensortap/schemas"
)

const (
	readAheadBytes = 32 << 20
	// readPatience is how long the server may take for the next message that it says it has.
	readPatience = 10 * time.Second
)

// ErrUnreadable says that the stream's server has messages that it does not give.
var ErrUnreadable = errors.New("the server does not give all messages of the stream")

// Held reads the stream and returns the batches of its messages, as Read gives them.
func Held(ctx context.Context, js jetstream.JetStream) (*schemas.Ledger, error) {
	held := schemas.NewLedger()
	err := Read(ctx, js, func(m schemas.Message, _ uint64) error {
		held.Add(schemas.BatchOf(m.Header.Kind, m.Header.Identity))
		return nil
	})
	return held, err
}

// Read calls visit with every message of the stream as it is at the call, in order, that is as it was published, by its
// checksum, and with the number of messages that are left. An error of visit ends it.
func Read(ctx context.Context, js jetstream.JetStream, visit func(m schemas.Message, left uint64) error) error {
	consumer, err := js.OrderedConsumer(ctx, StreamName, jetstream.OrderedConsumerConfig{})
	if err != nil {
		return fmt.Errorf("read stream %s: %w", StreamName, err)
	}
	messages, err := consumer.Messages(jetstream.PullMaxBytes(readAheadBytes))
	if err != nil {
		return fmt.Errorf("read stream %s: %w", StreamName, err)
	}
	defer messages.Stop()
	all := consumer.CachedInfo().NumPending
	for left := all; left > 0; {
		message, err := next(ctx, messages, readPatience)
		if errors.Is(err, errSilent) && js.Conn().IsConnected() {
			return fmt.Errorf("%w: of %d messages %d", ErrUnreadable, all, left)
		}
		if err == nil {
			left, err = show(message, visit)
		}
		if err != nil {
			return fmt.Errorf("read stream %s: %w", StreamName, err)
		}
	}
	return nil
}

// show returns how many messages are left.
func show(message jetstream.Msg, visit func(schemas.Message, uint64) error) (left uint64, err error) {
	metadata, err := message.Metadata()
	if err != nil {
		return 0, err
	}
	parsed, err := schemas.ParseMessage(message.Subject(), message.Headers(), message.Data(), metadata.Sequence.Stream)
	if bad := (*schemas.MalformedError)(nil); errors.As(err, &bad) {
		return metadata.NumPending, nil
	}
	if err != nil {
		return 0, err
	}
	return metadata.NumPending, visit(parsed, metadata.NumPending)
}
