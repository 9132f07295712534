// Package health tells how a process does: its numbers for Prometheus, whether it lives and whether its servers answer, and
// profiles of it. A command makes one Health and hands it to its parts. A nil Health takes all parts and tells nobody.
package health

import (
	"context"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"

	"github.com/tensortap/tensortap/analysis/judging"
	"github.com/tensortap/tensortap/pipelines"
)

// part tells its numbers as they are now.
type part func(ctx context.Context, tell func(prometheus.Metric))

// Need is nil when a server that the process needs answers, else it says why not.
type Need func(ctx context.Context) error

// Health has the parts of a process. Its methods may be called at the same time.
type Health struct {
	role, version string
	now           func() time.Time
	writes        *prometheus.HistogramVec
	publishing    pipelines.Metrics
	judging       judging.Metrics
	tracer        trace.Tracer // nil where nobody is told of traces

	mutex sync.Mutex
	parts map[string]part
	needs map[string]Need
}

// New is the health of a process that runs the command of that name.
func New(role, version string, now func() time.Time) *Health {
	h := &Health{
		role: role, version: version, now: now, writes: writeSeconds(),
		parts: map[string]part{}, needs: map[string]Need{},
	}
	h.parts["build"] = h.tellBuild
	h.parts["publish"] = h.tellPublishing
	return h
}

// has takes a part, in the place of an older one of that name.
func (h *Health) has(name string, p part) {
	if h == nil {
		return
	}
	h.mutex.Lock()
	defer h.mutex.Unlock()
	h.parts[name] = p
}

// Needs takes a server without which the process does nothing, in the place of an older one of that name.
func (h *Health) Needs(server string, answers Need) {
	if h == nil {
		return
	}
	h.mutex.Lock()
	defer h.mutex.Unlock()
	h.needs[server] = answers
}

// Publishing counts the work of the process's publishers; nil where nobody asks.
func (h *Health) Publishing() *pipelines.Metrics {
	if h == nil {
		return nil
	}
	return &h.publishing
}

// Judging counts the work of the process's judge; nil where nobody asks.
func (h *Health) Judging() *judging.Metrics {
	if h == nil {
		return nil
	}
	h.has("judge", func(_ context.Context, tell func(prometheus.Metric)) {
		counts := h.judging.Snapshot()
		tellEach(tell, judgeNumbers(), &counts)
	})
	return &h.judging
}
