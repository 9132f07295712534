package pipelines_test

import (
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/tensortap/tensortap/pipelines"
	"github.com/tensortap/tensortap/schemas"
)

// numbered are so many messages, from a number on.
func numbered(tb testing.TB, from, count int) []schemas.Message {
	tb.Helper()
	var messages []schemas.Message
	for i := range count {
		messages = append(messages, steps(tb, identity(from+i), 1))
	}
	return messages
}

func TestMessagesThatGoTogetherStandOnceAndInOrder(t *testing.T) {
	t.Parallel()
	s, cfg := startStream(t), testConfig(t)
	must(t, pipelines.Prepare(t.Context(), s.js, cfg))
	p := newPublisher(t, s, cfg)
	const total = 1700 // more than a batch holds
	must(t, p.Publish(t.Context(), steps(t, identity(1600), 1)))
	messages := numbered(t, 0, total)
	for range 2 {
		must(t, p.PublishTogether(t.Context(), messages...))
		must(t, p.Flush(t.Context()))
	}
	if got := p.Metrics().Snapshot(); got.Published != total || got.Duplicates != total+1 {
		t.Errorf("%d published, %d duplicates, want %d and one more", got.Published, got.Duplicates, total)
	}
	checkIDs(t, s, append(numbered(t, 1600, 1), append(messages[:1600:1600], messages[1601:]...)...))
}

func TestAStreamThatTakesNoBatchesGetsMessagesOneByOne(t *testing.T) {
	t.Parallel()
	s, cfg := startStream(t), testConfig(t)
	must(t, pipelines.Prepare(t.Context(), s.js, cfg))
	stream, err := s.js.Stream(t.Context(), pipelines.StreamName)
	must(t, err)
	asked, refused := newPublisher(t, s, cfg), newPublisher(t, s, cfg)
	messages := numbered(t, 0, 30)
	must(t, refused.PublishTogether(t.Context(), messages[:10]...)) // while it still takes them
	without := stream.CachedInfo().Config
	without.AllowAtomicPublish = false
	_, err = s.js.UpdateStream(t.Context(), without)
	must(t, err)
	for _, p := range []*pipelines.Publisher{refused, asked} {
		must(t, p.PublishTogether(t.Context(), messages[10:]...))
		must(t, p.Flush(t.Context()))
	}
	if got := asked.Metrics().Snapshot(); got.Published != 0 || got.Duplicates != 20 {
		t.Errorf("%+v, want what the other published", got)
	}
	checkIDs(t, s, messages)
}

// checkIDs wants the stream to hold these messages, in this order.
func checkIDs(t *testing.T, s *stream, want []schemas.Message) {
	t.Helper()
	stream, err := s.js.Stream(t.Context(), pipelines.StreamName)
	must(t, err)
	if n := stream.CachedInfo().State.Msgs; n != uint64(len(want)) {
		t.Fatalf("%d messages in the stream, want %d", n, len(want))
	}
	for i := range want {
		message, err := stream.GetMsg(t.Context(), uint64(i+1))
		must(t, err)
		if id := message.Header.Get(jetstream.MsgIDHeader); id != want[i].ID() {
			t.Fatalf("message %d is %s, want %s", i, id, want[i].ID())
		}
	}
}
