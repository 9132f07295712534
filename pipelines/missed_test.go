package pipelines_test

import (
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/tensortap/tensortap/pipelines"
)

// The server waits for an acknowledgement by its time of day, which may be set back by hours: here it waits for an hour.
func TestMessagesThatWereSentAndDidNotComeAreAskedForAgain(t *testing.T) {
	t.Parallel()
	s, cfg := startStream(t), testConfig(t)
	cfg.Stream.AckWait = time.Hour
	must(t, pipelines.Prepare(t.Context(), s.js, cfg))
	sink := newRecorder()
	deliver(t, s, cfg, sink)
	publishSteps(t, s, cfg, 0, 1)
	eventually(t, "the first is stored", settled(t, s))
	const count = 40
	consumer, err := s.js.Consumer(t.Context(), pipelines.StreamName, "store")
	must(t, err)
	lost, err := consumer.Fetch(count, jetstream.FetchMaxWait(5*time.Second))
	must(t, err)
	p := publishSteps(t, s, cfg, 1, count)
	got := 0
	for range lost.Messages() {
		got++
	}
	if got == 0 {
		t.Fatal("no message was lost: the test tries nothing")
	}
	must(t, pipelines.WaitStored(t.Context(), s.js, p.Metrics().Snapshot().LastSequence, 100*time.Millisecond, "store")) // a minute later
	if sink.len() != count {
		t.Errorf("%d messages are stored, want %d", sink.len(), count)
	}
}
