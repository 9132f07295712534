package health

import (
	"context"
	"fmt"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/tensortap/tensortap/pipelines"
)

// stream is what a stream holds.
type stream struct{ messages, bytes, limit, published float64 }

func streamNumbers() []number[stream] {
	return []number[stream]{
		gauge("stream_messages", "Messages that a stream holds.", func(s *stream) float64 { return s.messages }),
		gauge("stream_bytes", "Bytes that a stream holds.", func(s *stream) float64 { return s.bytes }),
		gauge("stream_limit_bytes", "Greatest size of a stream; once it is full, publishers wait. -1 for none.", func(s *stream) float64 { return s.limit }),
		counter("stream_published_messages", "Messages that a stream has taken since it was made.", func(s *stream) float64 { return s.published }),
	}
}

// lag is how far a consumer is behind the stream.
type lag struct{ undelivered, unacknowledged, seconds float64 }

func lagNumbers() []number[lag] {
	return []number[lag]{
		gauge("consumer_lag_messages", "Messages of the stream that a consumer has not stored.", func(l *lag) float64 { return l.undelivered + l.unacknowledged }),
		gauge("consumer_unacknowledged_messages", "Messages that were sent to a consumer and that it has not acknowledged.", func(l *lag) float64 { return l.unacknowledged }),
		gauge("consumer_lag_seconds", "Age of the oldest message that a consumer has not stored; 0 when it has stored all.", func(l *lag) float64 { return l.seconds }),
	}
}

// Stream takes the streams of events and of dead letters, with the durable consumers of the first.
func (h *Health) Stream(js jetstream.JetStream) {
	h.has("stream", func(ctx context.Context, tell func(prometheus.Metric)) {
		for _, name := range []string{pipelines.StreamName, pipelines.DeadStreamName} {
			_ = tellStream(ctx, js, name, tell) // server_up tells of a server that is away
		}
		_ = h.tellLags(ctx, js, tell) // likewise
	})
}

func tellStream(ctx context.Context, js jetstream.JetStream, name string, tell func(prometheus.Metric)) error {
	found, err := js.Stream(ctx, name)
	if err != nil {
		return err
	}
	info := found.CachedInfo()
	s := stream{
		messages: float64(info.State.Msgs), bytes: float64(info.State.Bytes),
		limit: float64(info.Config.MaxBytes), published: float64(info.State.LastSeq),
	}
	tellEach(tell, streamNumbers(), &s, label{"stream", name})
	return nil
}

func (h *Health) tellLags(ctx context.Context, js jetstream.JetStream, tell func(prometheus.Metric)) error {
	lags, err := pipelines.Lags(ctx, js, h.now)
	for _, l := range lags {
		numbers := lag{undelivered: float64(l.Undelivered), unacknowledged: float64(l.Unacknowledged), seconds: l.Age.Seconds()}
		tellEach(tell, lagNumbers(), &numbers, label{"consumer", l.Consumer})
	}
	return err
}

// Connected says whether the server of a connection answers. It asks for no right at all.
func Connected(connection *nats.Conn) Need {
	return func(ctx context.Context) error {
		if !connection.IsConnected() {
			return fmt.Errorf("the connection is lost: %s", connection.Status())
		}
		return connection.FlushWithContext(ctx)
	}
}
