// Package otlp sends spans to an OpenTelemetry collector over OTLP/HTTP, as OpenTelemetry's variables of the environment say.
// What is traced never waits for it: what does not fit into its queue is dropped, and counted.
package otlp

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/tensortap/tensortap/internal/spans"
)

// Limits of what waits for the collector.
const (
	mostWaiting = 2048 // spans; the next ones are dropped
	endWithin   = 2 * time.Second
	logEvery    = time.Minute
)

// few is the share of the batches that are followed unless OTEL_TRACES_SAMPLER says otherwise.
const few = 0.01

// Config says who tells.
type Config struct {
	Role, Version string
	Getenv        func(string) string
	Log           zerolog.Logger
	Now           func() time.Time
}

// Wanted says whether the environment names a collector.
func (c Config) Wanted() bool {
	switch {
	case strings.EqualFold(c.Getenv("OTEL_SDK_DISABLED"), "true") || c.Getenv("OTEL_TRACES_EXPORTER") == "none":
		return false
	}
	return c.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT")+c.Getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") != ""
}

// check refuses what this program would do otherwise than asked.
func (c Config) check() error {
	for _, v := range []struct{ name, want string }{
		{"OTEL_TRACES_EXPORTER", "otlp"},
		{"OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf"},
		{"OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "http/protobuf"},
	} {
		if is := c.Getenv(v.name); is != "" && is != v.want {
			return fmt.Errorf("%s=%s: want %s, which collectors take at port 4318; or OTEL_TRACES_EXPORTER=none for no traces", v.name, is, v.want)
		}
	}
	return nil
}

// Traces are those of a process.
type Traces struct {
	provider *sdk.TracerProvider
	log      zerolog.Logger
	now      func() time.Time
	logged   time.Time // of failed exports, which do not overlap

	waiting, sent, dropped, failed atomic.Int64
}

// New begins to tell. The caller ends it.
func New(ctx context.Context, cfg Config) (*Traces, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	posting, err := newClient(cfg)
	if err != nil {
		return nil, fmt.Errorf("tell traces: %w", err)
	}
	exporter, err := otlptrace.New(ctx, posting)
	if err != nil {
		return nil, fmt.Errorf("tell traces: %w", err)
	}
	t := &Traces{log: cfg.Log, now: cfg.Now}
	queue := sdk.NewBatchSpanProcessor(&counting{exporter, t}, sdk.WithMaxQueueSize(mostWaiting))
	options := []sdk.TracerProviderOption{sdk.WithResource(describe(ctx, cfg)), sdk.WithSpanProcessor(&gate{queue, t})}
	if cfg.Getenv("OTEL_TRACES_SAMPLER") == "" {
		options = append(options, sdk.WithSampler(sdk.ParentBased(sampler{sdk.TraceIDRatioBased(few)})))
	}
	t.provider = sdk.NewTracerProvider(options...)
	return t, nil
}

// describe is this process; OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES go before.
func describe(ctx context.Context, cfg Config) *resource.Resource {
	own := []attribute.KeyValue{attribute.String("service.namespace", "tensortap"), attribute.String("service.name", "tensortap-"+cfg.Role), attribute.String("service.version", cfg.Version)}
	r, err := resource.New(ctx, resource.WithAttributes(own...), resource.WithHost(), resource.WithTelemetrySDK(), resource.WithFromEnv())
	if err != nil {
		cfg.Log.Warn().Err(err).Msg("some of what describes this process in its traces is missing")
	}
	return r
}

// sampler follows a few batches, and all commands of people: these have no trace before they begin.
type sampler struct{ batches sdk.Sampler }

// ShouldSample implements sdk.Sampler.
func (s sampler) ShouldSample(p sdk.SamplingParameters) sdk.SamplingResult {
	if trace.SpanContextFromContext(p.ParentContext).HasTraceID() {
		return s.batches.ShouldSample(p)
	}
	return sdk.AlwaysSample().ShouldSample(p)
}

// Description implements sdk.Sampler.
func (s sampler) Description() string { return "commands, and of batches " + s.batches.Description() }

// Tracer makes spans; nil where nothing is told.
func (t *Traces) Tracer() trace.Tracer {
	if t == nil {
		return nil
	}
	return t.provider.Tracer(spans.Scope)
}

// Counts are what became of spans.
type Counts struct{ Sent, Dropped, Failed, Waiting int64 }

// Counts are those until now.
func (t *Traces) Counts() Counts {
	return Counts{Sent: t.sent.Load(), Dropped: t.dropped.Load(), Failed: t.failed.Load(), Waiting: t.waiting.Load()}
}

// End sends what waits, for two seconds at most.
func (t *Traces) End(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endWithin)
	defer cancel()
	if err := t.provider.Shutdown(ctx); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		t.log.Debug().Err(err).Msg("the last traces were not told")
	}
	if left := t.Counts().Waiting; left > 0 {
		t.log.Warn().Int64("spans", left).Msg("the collector of traces took too long, and what waited for it is lost")
	}
}

// gate keeps more spans from the queue than that takes, so that each that is dropped is counted.
type gate struct {
	sdk.SpanProcessor
	t *Traces
}

// OnEnd implements sdk.SpanProcessor.
func (g *gate) OnEnd(span sdk.ReadOnlySpan) {
	if g.t.waiting.Add(1) > mostWaiting {
		g.t.waiting.Add(-1)
		g.t.dropped.Add(1)
		return
	}
	g.SpanProcessor.OnEnd(span)
}

// counting counts what the collector took.
type counting struct {
	sdk.SpanExporter
	t *Traces
}

// ExportSpans implements sdk.SpanExporter.
func (c *counting) ExportSpans(ctx context.Context, batch []sdk.ReadOnlySpan) error {
	err := c.SpanExporter.ExportSpans(ctx, batch)
	count := int64(len(batch))
	c.t.waiting.Add(-count)
	if err == nil {
		c.t.sent.Add(count)
		return nil
	}
	c.t.failed.Add(count)
	if now := c.t.now(); now.Sub(c.t.logged) >= logEvery {
		c.t.logged = now
		c.t.log.Warn().Err(err).Int64("spans", count).Msg("the collector of traces did not take them, they are lost; it is tried again with the next ones")
	}
	return nil
}
