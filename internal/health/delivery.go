package health

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tensortap/tensortap/pipelines"
	"github.com/tensortap/tensortap/schemas"
)

type counts = pipelines.Snapshot

func publishNumbers() []number[counts] {
	return []number[counts]{
		counter("publish_messages", "Messages of this process that the stream acknowledged as new.", func(s *counts) float64 { return float64(s.Published) }),
		counter("publish_duplicates", "Messages of this process that the stream knew already.", func(s *counts) float64 { return float64(s.Duplicates) }),
		counter("publish_bytes", "Bytes of messages published by this process, with headers.", func(s *counts) float64 { return float64(s.PublishedBytes) }),
		counter("publish_retries", "Messages that this process sent once more.", func(s *counts) float64 { return float64(s.PublishRetries) }),
		counter("publish_dead_letters", "Messages of this process that no stream takes, kept in its spill folder.", func(s *counts) float64 { return float64(s.DeadLetters) }),
	}
}

func (h *Health) tellPublishing(_ context.Context, tell func(prometheus.Metric)) {
	s := h.publishing.Snapshot()
	tellEach(tell, publishNumbers(), &s)
}

func deliveryNumbers() []number[counts] {
	return []number[counts]{
		counter("delivery_messages", "Messages that a consumer received from the stream.", func(s *counts) float64 { return float64(s.Delivered) }),
		counter("delivery_bytes", "Bytes of data of the messages that a consumer received.", func(s *counts) float64 { return float64(s.DeliveredBytes) }),
		counter("delivery_redelivered", "Messages received while a consumer still held them, and ignored.", func(s *counts) float64 { return float64(s.Redelivered) }),
		counter("delivery_malformed", "Messages that a consumer could not read.", func(s *counts) float64 { return float64(s.Malformed) }),
		counter("delivery_rejected", "Messages that a consumer's store refused for good.", func(s *counts) float64 { return float64(s.Rejected) }),
		counter("delivery_stored_messages", "Messages that a consumer made durable.", func(s *counts) float64 { return float64(s.Written) }),
		counter("delivery_stored_rows", "Rows of the messages that a consumer made durable.", func(s *counts) float64 { return float64(s.WrittenRows) }),
		counter("delivery_writes", "Writes of a consumer that succeeded.", func(s *counts) float64 { return float64(s.Writes) }),
		counter("delivery_write_retries", "Writes of a consumer that failed and were tried again: its store was away.", func(s *counts) float64 { return float64(s.WriteRetries) }),
		counter("delivery_dead_letters", "Messages that a consumer put aside: malformed or refused.", func(s *counts) float64 { return float64(s.DeadLetters) }),
		counter("delivery_unconfirmed", "Messages stored whose acknowledgement may be lost: they come again and are recognised.", func(s *counts) float64 { return float64(s.Unconfirmed) }),
		counter("delivery_reopened", "Times that a consumer had to be opened anew.", func(s *counts) float64 { return float64(s.Reopened) }),
		gauge("delivery_held_messages", "Messages that a consumer has received and not yet acknowledged.", func(s *counts) float64 { return float64(s.HeldMessages) }),
		gauge("delivery_held_bytes", "Memory of the messages that a consumer holds.", func(s *counts) float64 { return float64(s.HeldBytes) }),
	}
}

// Delivery takes the delivery of the stream to a consumer.
func (h *Health) Delivery(consumer string, counted *pipelines.Metrics) {
	h.has("delivery "+consumer, func(_ context.Context, tell func(prometheus.Metric)) {
		s := counted.Snapshot()
		tellEach(tell, deliveryNumbers(), &s, label{"consumer", consumer})
	})
}

// writeSeconds has buckets from a small batch on an idle disk to a store that hangs.
func writeSeconds() *prometheus.HistogramVec {
	return prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: prefix + "store_write_seconds", Help: "Time of one write of a consumer to its store, be it a success or not.",
		Buckets: []float64{0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60},
	}, []string{"consumer"})
}

// Timed is a sink whose writes are timed.
type Timed struct {
	sink    pipelines.Sink
	seconds prometheus.Observer
	now     func() time.Time
}

// Timed times the writes of a consumer's sink.
func (h *Health) Timed(consumer string, sink pipelines.Sink) *Timed {
	if h == nil {
		return &Timed{sink: sink}
	}
	return &Timed{sink: sink, seconds: h.writes.WithLabelValues(consumer), now: h.now}
}

// Write implements pipelines.Sink.
func (t *Timed) Write(ctx context.Context, messages []schemas.Message) error {
	if t.seconds == nil {
		return t.sink.Write(ctx, messages)
	}
	began := t.now()
	err := t.sink.Write(ctx, messages)
	t.seconds.Observe(t.now().Sub(began).Seconds())
	return err
}
