package pipelines

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// Replay delivers all messages of the stream to the consumer once more. A sink that still has the
// rows accepts them as stored. To fill emptied tables, stop the consumer's Delivery first: its held
// messages would be acknowledged after the tables were emptied.
func Replay(ctx context.Context, js jetstream.JetStream, cfg Config, consumer string) error {
	if _, err := js.ResetConsumerToSequence(ctx, StreamName, consumer, 1); err == nil {
		return nil
	}
	// A server that can not reset, or no consumer yet.
	if err := js.DeleteConsumer(ctx, StreamName, consumer); err != nil && !errors.Is(err, jetstream.ErrConsumerNotFound) {
		return fmt.Errorf("replay stream %s to %s: %w", StreamName, consumer, err)
	}
	if _, err := PrepareConsumer(ctx, js, cfg.Stream, consumer); err != nil {
		return fmt.Errorf("replay stream %s to %s: %w", StreamName, consumer, err)
	}
	return nil
}

// Progress says how far a consumer has come.
type Progress struct {
	Undelivered    uint64 // in the stream and not yet sent to the consumer
	Unacknowledged int    // sent and not yet acknowledged
	StoredUpTo     uint64 // all messages of the stream up to this one are acknowledged
}

// Waiting is how many messages are left to store.
func (p Progress) Waiting() uint64 {
	return p.Undelivered + uint64(p.Unacknowledged) //nolint:gosec // a count
}

// CaughtUp says whether nothing in the stream is left to store.
func (p Progress) CaughtUp() bool { return p.Undelivered == 0 && p.Unacknowledged == 0 }

// ConsumerProgress asks the server how far the consumer has come.
func ConsumerProgress(ctx context.Context, js jetstream.JetStream, consumer string) (Progress, error) {
	c, err := js.Consumer(ctx, StreamName, consumer)
	if err != nil {
		return Progress{}, fmt.Errorf("ask consumer %s for its progress: %w", consumer, err)
	}
	return progressOf(c.CachedInfo()), nil
}

func progressOf(info *jetstream.ConsumerInfo) Progress {
	return Progress{Undelivered: info.NumPending, Unacknowledged: info.NumAckPending, StoredUpTo: info.AckFloor.Stream}
}

// goneAfter is the time without work for a consumer, before messages that it never acknowledged are taken to have
// left the stream.
const goneAfter = time.Second

// WaitStored returns once each consumer has acknowledged all messages up to
// that place in the stream, as Snapshot.LastSequence of a publisher. Place 0
// waits for all that is there.
//
// That a consumer has nothing pending is not enough: the server counts a new
// message for its consumers a moment after it has acknowledged it.
func WaitStored(ctx context.Context, js jetstream.JetStream, sequence uint64, every time.Duration, consumers ...string) error {
	if sequence == 0 {
		stream, err := js.Stream(ctx, StreamName)
		if err != nil {
			return fmt.Errorf("wait until all is stored: %w", err)
		}
		sequence = stream.CachedInfo().State.LastSeq
	}
	for _, consumer := range consumers {
		if err := waitConsumer(ctx, js, sequence, every, consumer); err != nil {
			return err
		}
	}
	return nil
}

func waitConsumer(ctx context.Context, js jetstream.JetStream, sequence uint64, every time.Duration, consumer string) error {
	for idle := time.Duration(0); ; idle += every {
		p, err := ConsumerProgress(ctx, js, consumer)
		if err != nil {
			return fmt.Errorf("wait until all is stored: %w", err)
		}
		if !p.CaughtUp() {
			idle = 0
		}
		if p.StoredUpTo >= sequence || idle >= goneAfter {
			return nil
		}
		if err := pause(ctx, every); err != nil {
			return fmt.Errorf("wait until %s has stored %d messages and %d under way: %w", consumer, p.Undelivered, p.Unacknowledged, err)
		}
	}
}
