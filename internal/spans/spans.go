// Package spans is what the parts of a batch's way agree on where they tell it to OpenTelemetry: which trace a batch is in,
// and how its context goes with a message. A nil tracer tells nothing, and costs nothing.
package spans

import (
	"context"
	"encoding/binary"
	"net/textproto"

	"github.com/zeebo/xxh3"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/tensortap/tensortap/schemas"
)

// Scope is the name of this program among those that tell spans.
const Scope = "github.com/tensortap/tensortap"

// MostLinks bounds the batches that one span names: a write may have thousands.
const MostLinks = 32

// TraceOf is the trace of a batch, by its message's id: whoever knows the batch finds its trace, also where no message came
// from, as a judge that reads tables.
func TraceOf(id string) (of trace.TraceID) {
	sum := xxh3.HashString128(id)
	binary.BigEndian.PutUint64(of[:8], sum.Hi)
	binary.BigEndian.PutUint64(of[8:], sum.Lo)
	return of
}

// in has spans that begin with it be in the batch's trace, which nothing is above.
func in(ctx context.Context, id string) context.Context {
	return trace.ContextWithSpanContext(ctx, trace.NewSpanContext(trace.SpanContextConfig{TraceID: TraceOf(id)}))
}

// Publishing begins the span of a message that is on its way to the stream, and has its context go with it in the header.
// It is nil for a message that is not followed: nothing is added to that.
func Publishing(ctx context.Context, tracer trace.Tracer, m *schemas.Message, header map[string][]string) trace.Span {
	if tracer == nil {
		return nil
	}
	ctx, span := tracer.Start(in(ctx, m.ID()), "publish "+m.Header.Kind, trace.WithSpanKind(trace.SpanKindProducer), trace.WithLinks(around(ctx)...))
	if !span.IsRecording() {
		return nil
	}
	span.SetAttributes(append(batch(m), attribute.String("messaging.operation.type", "send"), attribute.String("messaging.destination.name", m.Subject()))...)
	propagation.TraceContext{}.Inject(ctx, carrier(header))
	return span
}

// around is the work that a batch comes of, as judging.
func around(ctx context.Context) []trace.Link {
	if of := trace.SpanContextFromContext(ctx); of.IsValid() {
		return []trace.Link{{SpanContext: of}}
	}
	return nil
}

// Working begins a span of work on what came in the message of that id; nil where that is not followed.
func Working(ctx context.Context, tracer trace.Tracer, id, name string, about ...attribute.KeyValue) trace.Span {
	_, span := tracer.Start(in(ctx, id), name, trace.WithAttributes(about...), trace.WithLinks(around(ctx)...))
	if !span.IsRecording() {
		return nil
	}
	return span
}

// Asking begins a span below that of the command, if that is followed.
func Asking(ctx context.Context, name string, about ...attribute.KeyValue) (context.Context, trace.Span) {
	return trace.SpanFromContext(ctx).TracerProvider().Tracer(Scope).Start(ctx, name, trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(about...))
}

// batch says which one it is.
func batch(m *schemas.Message) []attribute.KeyValue {
	id := m.Header.Identity
	return []attribute.KeyValue{
		attribute.String("messaging.system", "nats"),
		attribute.String("messaging.message.id", m.ID()),
		attribute.Int("messaging.message.body.size", len(m.Data)),
		attribute.String("tensortap.kind", m.Header.Kind),
		attribute.String("tensortap.run_id", schemas.FormatID(id.RunID)),
		attribute.Int64("tensortap.rank", int64(id.Rank)),
		attribute.Int("tensortap.rows", m.Header.Rows),
	}
}

// carrier is the header of a message. The names of W3C are lower-case, and NATS leaves them so.
type carrier map[string][]string

// Get implements propagation.TextMapCarrier.
func (c carrier) Get(key string) string {
	for _, name := range []string{key, textproto.CanonicalMIMEHeaderKey(key)} { // as other programs may write it
		if values := c[name]; len(values) > 0 {
			return values[0]
		}
	}
	return ""
}

// Set implements propagation.TextMapCarrier.
func (c carrier) Set(key, value string) { c[key] = []string{value} }

// Keys implements propagation.TextMapCarrier.
func (c carrier) Keys() []string {
	keys := make([]string, 0, len(c))
	for key := range c {
		keys = append(keys, key)
	}
	return keys
}

// Followed is the context that came with a message; false for one that is not followed, or where what came is no context.
func Followed(ctx context.Context, header map[string][]string) (trace.SpanContext, bool) {
	came := trace.SpanContextFromContext(propagation.TraceContext{}.Extract(ctx, carrier(header)))
	return came, came.IsValid() && came.IsSampled()
}

// Several are the batches that one piece of work is done for.
type Several struct {
	links   []trace.Link
	leftOut int
}

// Add adds a batch that is followed.
func (s *Several) Add(of trace.SpanContext, about ...attribute.KeyValue) {
	if len(s.links) == MostLinks {
		s.leftOut++
		return
	}
	s.links = append(s.links, trace.Link{SpanContext: of, Attributes: about})
}

// Begin begins the span of the work, in the trace of the first batch, with links to all of them. It is nil where none is
// followed.
func (s *Several) Begin(ctx context.Context, tracer trace.Tracer, name string, options ...trace.SpanStartOption) (context.Context, trace.Span) {
	if len(s.links) == 0 {
		return ctx, nil
	}
	options = append(options, trace.WithLinks(s.links...), trace.WithAttributes(attribute.Int("tensortap.links_left_out", s.leftOut)))
	under, span := tracer.Start(trace.ContextWithRemoteSpanContext(ctx, s.links[0].SpanContext), name, options...)
	if !span.IsRecording() {
		return ctx, nil
	}
	return under, span
}

// End ends a span with the outcome of its work. A nil span takes it, too.
func End(span trace.Span, err error) {
	if span == nil {
		return
	}
	if err != nil {
		span.SetStatus(codes.Error, err.Error())
	}
	span.End()
}
