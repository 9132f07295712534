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

// Held reads every message of the stream as it is at the call, and returns the batches of those that are as they were
// published, by their checksums.
func Held(ctx context.Context, js jetstream.JetStream) (*schemas.Ledger, error) {
	consumer, err := js.OrderedConsumer(ctx, StreamName, jetstream.OrderedConsumerConfig{})
	if err != nil {
		return nil, fmt.Errorf("read stream %s: %w", StreamName, err)
	}
	messages, err := consumer.Messages(jetstream.PullMaxBytes(readAheadBytes))
	if err != nil {
		return nil, fmt.Errorf("read stream %s: %w", StreamName, err)
	}
	defer messages.Stop()
	held := schemas.NewLedger()
	all := consumer.CachedInfo().NumPending
	for pending := all; pending > 0; {
		message, err := next(ctx, messages, readPatience)
		if err == nil {
			pending, err = hold(held, message)
		}
		if errors.Is(err, errSilent) && js.Conn().IsConnected() {
			return nil, fmt.Errorf("%w: of %d messages %d", ErrUnreadable, all, pending)
		}
		if err != nil {
			return nil, fmt.Errorf("read stream %s: %w", StreamName, err)
		}
	}
	return held, nil
}

// hold returns how many messages are left.
func hold(held *schemas.Ledger, message jetstream.Msg) (pending uint64, err error) {
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
	held.Add(schemas.BatchOf(parsed.Header.Kind, parsed.Header.Identity))
	return metadata.NumPending, nil
}
