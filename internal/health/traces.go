package health

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"
)

// Traced is what became of spans.
type Traced struct{ Sent, Dropped, Failed, Waiting int64 }

func traceNumbers() []number[Traced] {
	return []number[Traced]{
		counter("traces_sent_spans", "Spans of traces that the collector took.", func(t *Traced) float64 { return float64(t.Sent) }),
		counter("traces_dropped_spans", "Spans of traces dropped, as too many waited for the collector: lost.", func(t *Traced) float64 { return float64(t.Dropped) }),
		counter("traces_failed_spans", "Spans of traces that the collector did not take: lost.", func(t *Traced) float64 { return float64(t.Failed) }),
		gauge("traces_waiting_spans", "Spans of traces that wait for the collector.", func(t *Traced) float64 { return float64(t.Waiting) }),
	}
}

// Traces takes what makes spans, and what became of these.
func (h *Health) Traces(tracer trace.Tracer, counts func() Traced) {
	if h == nil {
		return
	}
	h.tracer = tracer
	h.has("traces", func(_ context.Context, tell func(prometheus.Metric)) {
		c := counts()
		tellEach(tell, traceNumbers(), &c)
	})
}

// Tracer makes spans; nil where nobody is told.
func (h *Health) Tracer() trace.Tracer {
	if h == nil {
		return nil
	}
	return h.tracer
}
