package pipelines

import (
	"context"
	"errors"

	"github.com/nats-io/nats.go/jetstream"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/tensortap/tensortap/internal/spans"
)

// follow begins the span of a message, if it is one of the few that are followed. Its context is part of the message's size.
func (p *Publisher) follow(ctx context.Context, e *outgoing) *outgoing {
	if span := spans.Publishing(ctx, p.cfg.Tracer, &e.message, e.wire.Header); span != nil {
		e.span, e.size = span, e.wire.Size()
	}
	return e
}

// each calls do with the spans of the entry's messages that are followed.
func (e *outgoing) each(do func(trace.Span)) {
	if e.span != nil {
		do(e.span)
	}
	for _, part := range e.parts {
		part.each(do)
	}
}

func (e *outgoing) sentAgain() {
	e.each(func(span trace.Span) { span.AddEvent("sent again") })
}

// taken ends the spans of messages that the stream has.
func (e *outgoing) taken(ack *jetstream.PubAck) {
	e.each(func(span trace.Span) {
		span.SetAttributes(attribute.Int64("tensortap.stream_seq", int64(ack.Sequence)), attribute.Bool("tensortap.duplicate", ack.Duplicate)) //nolint:gosec // no stream is that long
		spans.End(span, nil)
	})
}

// aside ends the spans of a message that no stream takes.
func (e *outgoing) aside(reason string) {
	e.each(func(span trace.Span) { spans.End(span, errors.New(reason)) })
}

// follow begins the span of a write, if some of its messages are followed.
func (d *Delivery) follow(ctx context.Context, b *batch) (context.Context, trace.Span) {
	tracer := d.cfg.Deliver.Tracer
	if tracer == nil {
		return ctx, nil
	}
	var all spans.Several
	for _, h := range b.items {
		if came, followed := spans.Followed(ctx, h.header); followed {
			all.Add(came, attribute.String("messaging.message.id", h.message.ID()), attribute.Int64("tensortap.stream_seq", int64(h.sequence))) //nolint:gosec // no stream is that long
		}
	}
	return all.Begin(ctx, tracer, "store "+b.kind, trace.WithSpanKind(trace.SpanKindConsumer), trace.WithAttributes(
		attribute.String("messaging.system", "nats"), attribute.String("messaging.operation.type", "process"),
		attribute.String("messaging.consumer.group.name", d.consumer), attribute.Int("messaging.batch.message_count", len(b.items)),
		attribute.String("tensortap.kind", b.kind), attribute.Int("tensortap.rows", b.rows),
	))
}

// tellAgain notes in the span that the write is tried again.
func tellAgain(span trace.Span, err error) {
	if span != nil {
		span.AddEvent("written again", trace.WithAttributes(attribute.String("error.message", err.Error())))
	}
}
