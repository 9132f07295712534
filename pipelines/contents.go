package pipelines

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/tensortap/tensortap/schemas"
)

const (
	readAheadBytes = 32 << 20
	// readPatience is how long the server may take for the next message, before it is asked for that one by itself.
	readPatience = 2 * time.Second
)

// ErrUnreadable says that the stream's server has messages that it does not give.
var ErrUnreadable = errors.New("the server does not give all messages of the stream")

// Kept gives the messages of the stream from one place to another, or where that is 0 to its end as it is at the call.
// What is no message of ours is left out: it became a dead letter. Messages that the server has and does not give are an
// ErrUnreadable, behind which Kept goes on; any other error is the last.
func Kept(ctx context.Context, js jetstream.JetStream, from, to uint64) iter.Seq2[schemas.Message, error] {
	return func(yield func(schemas.Message, error) bool) {
		r := &keptReader{js: js, next: from, last: to, yield: yield}
		if err := r.run(ctx); err != nil && !errors.Is(err, errEnough) {
			yield(schemas.Message{}, fmt.Errorf("read stream %s: %w", StreamName, err))
		}
	}
}

// errEnough says that the reader of messages wants no more.
var errEnough = errors.New("no more messages wanted")

// keptReader reads a part of the stream.
type keptReader struct {
	js         jetstream.JetStream
	stream     jetstream.Stream
	next, last uint64
	known      jetstream.StreamState // with the places that are deleted, as it was last asked for them
	yield      func(schemas.Message, error) bool
}

func (r *keptReader) run(ctx context.Context) (err error) {
	if r.stream, err = r.js.Stream(ctx, StreamName); err != nil {
		return err
	}
	state := r.stream.CachedInfo().State
	r.next = max(r.next, state.FirstSeq)
	if r.last == 0 || r.last > state.LastSeq {
		r.last = state.LastSeq
	}
	for r.next <= r.last {
		err := r.follow(ctx)
		if errors.Is(err, errSilent) && r.js.Conn().IsConnected() {
			err = r.probe(ctx)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// follow takes what the server sends from the next message on.
func (r *keptReader) follow(ctx context.Context) error {
	consumer, err := r.js.OrderedConsumer(ctx, StreamName, jetstream.OrderedConsumerConfig{
		DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: r.next,
	})
	if err != nil {
		return err
	}
	if consumer.CachedInfo().NumPending == 0 {
		return r.skip(ctx, r.last+1)
	}
	messages, err := consumer.Messages(jetstream.PullMaxBytes(readAheadBytes))
	if err != nil {
		return err
	}
	defer messages.Stop()
	for r.next <= r.last {
		message, err := next(ctx, messages, readPatience)
		if err != nil {
			return err
		}
		if err := r.take(ctx, message); err != nil {
			return err
		}
	}
	return nil
}

func (r *keptReader) take(ctx context.Context, message jetstream.Msg) error {
	metadata, err := message.Metadata()
	if err != nil {
		return err
	}
	place := metadata.Sequence.Stream
	if err := r.skip(ctx, min(place, r.last+1)); err != nil || place > r.last {
		return err
	}
	err = r.give(message.Subject(), message.Headers(), message.Data(), place)
	if err == nil && metadata.NumPending == 0 {
		return r.skip(ctx, r.last+1)
	}
	return err
}

// give hands on the message at that place.
func (r *keptReader) give(subject string, header map[string][]string, data []byte, place uint64) error {
	r.next = place + 1
	message, err := schemas.ParseMessage(Published(subject), header, data, place)
	if bad := (*schemas.MalformedError)(nil); errors.As(err, &bad) {
		return nil
	}
	if err == nil && !r.yield(message, nil) {
		return errEnough
	}
	return err
}

// probe asks for one message after the other, until the server gives one.
func (r *keptReader) probe(ctx context.Context) error {
	for place := r.next; place <= r.last; place++ {
		raw, err := r.stream.GetMsg(ctx, place)
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		if err := r.skip(ctx, place); err != nil {
			return err
		}
		return r.give(raw.Subject, raw.Header, raw.Data, place)
	}
	return r.skip(ctx, r.last+1)
}

// skip goes on at that place, and names the messages before it that were neither deleted nor too old.
func (r *keptReader) skip(ctx context.Context, to uint64) error {
	from := r.next
	r.next = max(r.next, to)
	if from >= to {
		return nil
	}
	// What was deleted stays deleted: it is asked for again only where that does not explain a gap. A run that was deleted
	// leaves many.
	unreadable, first := unexplained(&r.known, from, to)
	if unreadable > 0 {
		info, err := r.stream.Info(ctx, jetstream.WithDeletedDetails(true))
		if err != nil {
			return err
		}
		r.known = info.State
		unreadable, first = unexplained(&r.known, from, to)
	}
	if unreadable > 0 && !r.yield(schemas.Message{}, fmt.Errorf("%w: %d of them, from %d on", ErrUnreadable, unreadable, first)) {
		return errEnough
	}
	return nil
}

// unexplained counts the places of a gap that were neither deleted nor too old, and says which is the first.
func unexplained(state *jetstream.StreamState, from, to uint64) (count int, first uint64) {
	for place := max(from, state.FirstSeq); place < to; place++ {
		if _, deleted := slices.BinarySearch(state.Deleted, place); !deleted {
			count++
			first = cmp.Or(first, place)
		}
	}
	return count, first
}
