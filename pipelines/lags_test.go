package pipelines_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/tensortap/tensortap/pipelines"
)

// put publishes an event of a rank, and returns its place and its shard.
func (s *stream) put(tb testing.TB, kind string, rank int) (place uint64, shard int, at time.Time) {
	tb.Helper()
	ack, err := s.js.Publish(tb.Context(), fmt.Sprintf("tap.%s.0000000000000001.%d", kind, rank), nil)
	must(tb, err)
	events, err := s.js.Stream(tb.Context(), pipelines.StreamName)
	must(tb, err)
	m, err := events.GetMsg(tb.Context(), ack.Sequence)
	must(tb, err)
	_, err = fmt.Sscanf(strings.ReplaceAll(m.Subject, ".", " "), "tapshard %d", &shard)
	must(tb, err)
	return ack.Sequence, shard, m.Time
}

func (s *stream) ackAll(tb testing.TB, consumer jetstream.Consumer) {
	tb.Helper()
	info, err := consumer.Info(tb.Context())
	must(tb, err)
	batch, err := consumer.Fetch(int(info.NumPending)) //nolint:gosec // few
	must(tb, err)
	for m := range batch.Messages() {
		must(tb, m.DoubleAck(tb.Context()))
	}
}

// TestAShardIsBehindByItsOwnMessages has one store its messages, while another, which has the next in the stream, stores nothing.
func TestAShardIsBehindByItsOwnMessages(t *testing.T) {
	t.Parallel()
	s, cfg := startStream(t), testConfig(t)
	must(t, pipelines.Prepare(t.Context(), s.js, shardConfig(cfg, 0)))
	_, own, _ := s.put(t, "step", 0)
	other := 1
	for _, shard, _ := s.put(t, "step", other); shard == own; _, shard, _ = s.put(t, "step", other) {
		other++
	}
	consumer, err := pipelines.PrepareConsumer(t.Context(), s.js, shardConfig(cfg, own).Stream, "own")
	must(t, err)
	s.ackAll(t, consumer)
	s.put(t, "step", other)
	_, _, at := s.put(t, "step", 0)
	lags, err := pipelines.Lags(t.Context(), s.js, func() time.Time { return at.Add(time.Hour) })
	must(t, err)
	if len(lags) != 1 || lags[0].Consumer != "own" || lags[0].Waiting() != 1 || lags[0].Age != time.Hour {
		t.Errorf("lags %+v, want one of an hour by one message", lags)
	}
	s.ackAll(t, consumer)
	if lags, err = pipelines.Lags(t.Context(), s.js, time.Now); err != nil || lags[0].Waiting() != 0 || lags[0].Age != 0 {
		t.Errorf("all is stored: %+v, %v", lags, err)
	}
}

func TestTheLastOfAKindIsFoundInAnyShard(t *testing.T) {
	t.Parallel()
	s, cfg := startStream(t), testConfig(t)
	must(t, pipelines.Prepare(t.Context(), s.js, cfg))
	ack, err := s.js.Publish(t.Context(), "tap.alert.0000000000000001.3", nil)
	must(t, err)
	if last, err := pipelines.LastOf(t.Context(), s.js, "alert"); last != ack.Sequence || err != nil {
		t.Errorf("before the stream is shared out: %d, %v; want %d", last, err, ack.Sequence)
	}
	must(t, pipelines.Prepare(t.Context(), s.js, shardConfig(cfg, 0)))
	place, _, _ := s.put(t, "alert", 3)
	s.put(t, "step", 3)
	if last, err := pipelines.LastOf(t.Context(), s.js, "alert"); last != place || err != nil {
		t.Errorf("since then: %d, %v; want %d", last, err, place)
	}
	if last, err := pipelines.LastOf(t.Context(), s.js, "log"); last != 0 || err != nil {
		t.Errorf("of a kind that has none: %d, %v", last, err)
	}
}
