package pipelines

import (
	"context"
	"crypto/rand"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/tensortap/tensortap/schemas"
)

// Headers by which a stream knows the messages of a batch, and the last of it.
const (
	headerBatch       = "Nats-Batch-Id"
	headerBatchNumber = "Nats-Batch-Sequence"
	headerBatchCommit = "Nats-Batch-Commit"
)

// What a batch holds. A server takes 1,000 messages, and stages them in files of their own, which costs as much as ten
// messages that are sent by themselves.
const (
	fewMessages   = 16
	batchMessages = 500
	batchBytes    = 4 << 20
)

// PublishTogether is Publish for several messages. The stream takes a batch of
// them whole or not at all, in their order, and writes it to the disk once,
// which is most of what small messages cost. A stream that refuses batches, or
// this one because it knows a message of it, gets them one by one, maybe after
// later ones.
func (p *Publisher) PublishTogether(ctx context.Context, messages ...schemas.Message) error {
	if len(messages) < fewMessages || !p.takesBatches(ctx) {
		return p.publishEach(ctx, messages)
	}
	for len(messages) > 0 {
		n := ofBatch(messages)
		if err := p.publishBatch(ctx, messages[:n]); err != nil {
			return err
		}
		messages = messages[n:]
	}
	return nil
}

// ofBatch is how many of the messages fit into one batch, at least one.
func ofBatch(messages []schemas.Message) int {
	size := 0
	for i := range messages {
		size += len(messages[i].Data)
		if i > 0 && (size > batchBytes || i == batchMessages) {
			return i
		}
	}
	return len(messages)
}

func (p *Publisher) publishEach(ctx context.Context, messages []schemas.Message) error {
	for _, m := range messages {
		if err := p.Publish(ctx, m); err != nil {
			return err
		}
	}
	return nil
}

func (p *Publisher) publishBatch(ctx context.Context, messages []schemas.Message) error {
	if len(messages) < fewMessages {
		return p.publishEach(ctx, messages)
	}
	batch := &outgoing{}
	for _, m := range messages {
		part := newOutgoing(m)
		if p.tooLarge(part) != "" {
			return p.publishEach(ctx, messages)
		}
		batch.parts = append(batch.parts, part)
	}
	for _, part := range batch.parts { // which will go as they are
		batch.size += p.follow(ctx, part).size
	}
	if err := p.lock(ctx); err != nil {
		return err
	}
	defer p.unlock()
	if err := p.enqueue(ctx, batch); err != nil {
		return fmt.Errorf("publish %d messages from %s on: %w", len(messages), messages[0].ID(), err)
	}
	return nil
}

// takesBatches says whether the stream is set up for batches; servers older
// than 2.12 know none. Who cannot tell sends one by one.
func (p *Publisher) takesBatches(ctx context.Context) bool {
	if p.lock(ctx) != nil {
		return false
	}
	defer p.unlock()
	if p.batches == nil {
		stream, err := p.js.Stream(ctx, StreamName)
		if err != nil {
			return false
		}
		able := stream.CachedInfo().Config.AllowAtomicPublish
		p.batches = &able
	}
	return *p.batches
}

// transmit gives the entry to the connection. The server stages what has no
// address for an answer, and answers to the last message for all of a batch.
func (p *Publisher) transmit(e *outgoing) (jetstream.PubAckFuture, error) {
	if e.parts == nil {
		return p.js.PublishMsgAsync(e.wire)
	}
	batch, last := rand.Text(), len(e.parts)-1
	for i, part := range e.parts[:last] {
		if err := p.js.Conn().PublishMsg(part.inBatch(batch, i+1)); err != nil {
			return nil, err
		}
	}
	commit := e.parts[last].inBatch(batch, last+1)
	commit.Header.Set(headerBatchCommit, "1")
	return p.js.PublishMsgAsync(commit)
}

func (e *outgoing) inBatch(batch string, number int) *nats.Msg {
	wire := &nats.Msg{Subject: e.wire.Subject, Header: maps.Clone(e.wire.Header), Data: e.wire.Data}
	wire.Header.Set(headerBatch, batch)
	wire.Header.Set(headerBatchNumber, strconv.Itoa(number))
	return wire
}

// split replaces the batch at the head of the queue by its messages, whatever
// came in between: those that the stream has already are known by their ids.
func (p *Publisher) split() {
	parts := p.queue[0].parts
	p.queue = slices.Concat(parts, p.queue[1:])
	for _, part := range parts {
		if p.failed != nil {
			return // away; settle sends the head again, and then the others
		}
		p.send(part)
	}
}
