package pipelines_test

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/tensortap/tensortap/pipelines"
	"github.com/tensortap/tensortap/schemas"
)

func publishSteps(tb testing.TB, s *stream, cfg pipelines.Config, from, to int) *pipelines.Publisher {
	tb.Helper()
	p := newPublisher(tb, s, cfg)
	var messages list
	for i := from; i < to; i++ {
		messages = append(messages, steps(tb, identity(i), 2))
	}
	must(tb, publishAll(tb.Context(), p, messages))
	return p
}

func TestEveryMessageIsStoredOnceAndEveryPubAckIsRead(t *testing.T) {
	t.Parallel()
	s, cfg := startStream(t), testConfig(t)
	cfg.Stream.AckWait, cfg.Publish.AckTimeout = time.Hour, time.Hour // a slow disk makes nothing come twice
	must(t, pipelines.Prepare(t.Context(), s.js, cfg))
	sink := newRecorder()
	d, _ := deliver(t, s, cfg, sink)
	p := publishSteps(t, s, cfg, 0, 6000)
	must(t, pipelines.WaitStored(t.Context(), s.js, p.Metrics().Snapshot().LastSequence, 5*time.Millisecond, "store"))
	// What a busy server acknowledges late is sent twice, and known the second time.
	if got := p.Metrics().Snapshot(); got.Published+got.Duplicates != 6000 || got.Duplicates > got.PublishRetries || got.LastSequence != 6000 {
		t.Errorf("published %+v, want 6000 messages", got)
	}
	if got := d.Metrics().Snapshot(); sink.len() != 6000 || got.WrittenRows != 12000 || got.Unconfirmed != 0 {
		t.Errorf("stored %d messages, %+v, want 6000", sink.len(), got)
	}
	if sink.writes > 1000 {
		t.Errorf("%d writes for 6000 small messages, want them grouped", sink.writes)
	}
	publishSteps(t, s, cfg, 0, 100)
	eventually(t, "nothing left to store", settled(t, s))
	if sink.len() != 6000 {
		t.Errorf("stored %d messages after publishing 100 of them again, want 6000", sink.len())
	}
}

func TestPublishingAgainCountsDuplicates(t *testing.T) {
	t.Parallel()
	s, cfg := startStream(t), testConfig(t)
	must(t, pipelines.Prepare(t.Context(), s.js, cfg))
	publishSteps(t, s, cfg, 0, 10)
	if got := publishSteps(t, s, cfg, 5, 15).Metrics().Snapshot(); got.Published != 5 || got.Duplicates != 5 {
		t.Errorf("publish 10 messages of which 5 are known: %+v, want 5 published, 5 duplicates", got)
	}
}

func TestRunDoesNotAckFailedWrite(t *testing.T) {
	t.Parallel()
	s, cfg := startStream(t), testConfig(t)
	cfg.Stream.AckWait = time.Hour // so it is not the server that delivers again
	must(t, pipelines.Prepare(t.Context(), s.js, cfg))
	sink := newRecorder()
	sink.before = func(context.Context, []schemas.Message) error { return errors.New("store is away") }
	d, stop := deliver(t, s, cfg, sink)
	publishSteps(t, s, cfg, 0, 10)
	eventually(t, "some failed writes", func() bool { return d.Metrics().Snapshot().WriteRetries > 3 })
	must(t, stop())
	progress, err := pipelines.ConsumerProgress(t.Context(), s.js, "store")
	must(t, err)
	if left := int(progress.Undelivered) + progress.Unacknowledged; left != 10 {
		t.Errorf("%d messages left after writes that failed, want 10", left)
	}
	sink.before = nil
	deliver(t, s, cfg, sink)
	eventually(t, "the next run stores them", settled(t, s))
	if sink.len() != 10 {
		t.Errorf("next run stored %d messages, want 10", sink.len())
	}
}

func TestWriteUnderWayIsFinishedAndAckedOnCancel(t *testing.T) {
	t.Parallel()
	s, cfg := startStream(t), testConfig(t)
	must(t, pipelines.Prepare(t.Context(), s.js, cfg))
	sink := newRecorder()
	begun := make(chan struct{})
	sink.before = func(ctx context.Context, _ []schemas.Message) error {
		select {
		case begun <- struct{}{}:
		default:
		}
		select {
		case <-time.After(500 * time.Millisecond):
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	_, stop := deliver(t, s, cfg, sink)
	publishSteps(t, s, cfg, 0, 1)
	<-begun
	publishSteps(t, s, cfg, 1, 5) // held behind the write
	time.Sleep(100 * time.Millisecond)
	must(t, stop())
	if !settled(t, s)() || sink.len() != 5 {
		t.Errorf("stored %d of 5 messages when cancelled mid-write, all acknowledged: %v", sink.len(), settled(t, s)())
	}
}

func TestGraceBoundsAWriteThatHangs(t *testing.T) {
	t.Parallel()
	s, cfg := startStream(t), testConfig(t)
	cfg.Deliver.Grace = 200 * time.Millisecond
	must(t, pipelines.Prepare(t.Context(), s.js, cfg))
	sink := newRecorder()
	begun := make(chan struct{}, 9)
	sink.before = func(ctx context.Context, _ []schemas.Message) error {
		begun <- struct{}{}
		<-ctx.Done()
		return ctx.Err()
	}
	_, stop := deliver(t, s, cfg, sink)
	publishSteps(t, s, cfg, 0, 1)
	<-begun
	must(t, stop()) // the write ends with its context alone, so a stop without a grace never returns
}

func TestStoreDownForTenAckWaitsLosesNothing(t *testing.T) {
	t.Parallel()
	s, cfg := startStream(t), testConfig(t)
	cfg.Stream.AckWait = 300 * time.Millisecond
	must(t, pipelines.Prepare(t.Context(), s.js, cfg))
	sink := newRecorder()
	var down atomic.Bool
	down.Store(true)
	sink.before = func(context.Context, []schemas.Message) error {
		if down.Load() {
			return errors.New("dial 127.0.0.1:8123: refused")
		}
		return nil
	}
	d, _ := deliver(t, s, cfg, sink)
	publishSteps(t, s, cfg, 0, 500)
	eventually(t, "all held", func() bool { return d.Metrics().Snapshot().HeldMessages == 500 })
	time.Sleep(10 * cfg.Stream.AckWait)
	if got := d.Metrics().Snapshot(); got.HeldMessages != 500 || sink.len() > 0 {
		t.Errorf("after ten ack waits: %+v, %d stored, want 500 held", got, sink.len())
	}
	down.Store(false)
	eventually(t, "all stored", settled(t, s))
	if got := d.Metrics().Snapshot(); sink.len() != 500 || got.DeadLetters > 0 {
		t.Errorf("stored %d messages, %+v, want 500", sink.len(), got)
	}
}

// A message of some kilobytes may unpack to 64 MiB, whatever its kind, and has up to 64 KiB of headers.
func TestMemoryIsBoundedWhateverMessagesUnpackTo(t *testing.T) {
	t.Parallel()
	s, cfg := startStream(t), testConfig(t)
	cfg.Deliver.RowBytes, cfg.Deliver.WriteBytes = 64<<20, 64<<20
	must(t, pipelines.Prepare(t.Context(), s.js, cfg))
	sink := newRecorder()
	var now, most, alone atomic.Int64
	all := make(chan struct{}) // closed once all are held
	sink.before = func(_ context.Context, messages []schemas.Message) error {
		var bytes int64
		for _, m := range messages {
			bytes += int64(m.StreamBytes())
		}
		alone.Store(max(alone.Load(), bytes))
		most.Store(max(most.Load(), now.Add(bytes)))
		<-all
		now.Add(-bytes)
		return nil
	}
	d, _ := deliver(t, s, cfg, sink)
	messages := list{}
	for i := range 4 {
		long := slices.Repeat([]string{strings.Repeat(strconv.Itoa(i), schemas.MaxTextBytes)}, 7)
		messages = append(messages, ops(t, identity(i), long[:3]...), sites(t, identity(i), long...)) // an op has its name twice
	}
	headers := 0
	for _, m := range messages {
		wire := &nats.Msg{Subject: m.Subject(), Header: m.NATSHeader(), Data: m.Data}
		wire.Header.Set("X-Long", strings.Repeat("x", 50<<10))
		headers += 50 << 10
		_, err := s.js.PublishMsg(t.Context(), wire)
		must(t, err)
	}
	eventually(t, "all held", func() bool { return d.Metrics().Snapshot().HeldMessages == int64(len(messages)) })
	held := d.Metrics().Snapshot().HeldBytes
	close(all)
	eventually(t, "all stored", func() bool { return sink.len() == len(messages) })
	if alone.Load() > int64(cfg.Deliver.RowBytes) || most.Load() > int64(cfg.Deliver.WriteBytes) {
		t.Errorf("a write had rows of %d bytes, all at once of %d, want at most %d and %d", alone.Load(), most.Load(), cfg.Deliver.RowBytes, cfg.Deliver.WriteBytes)
	}
	if held < int64(headers) {
		t.Errorf("messages with %d bytes of headers count for %d bytes", headers, held)
	}
}

func TestMemoryIsBoundedWhileTheStoreIsDown(t *testing.T) {
	t.Parallel()
	s, cfg := startStream(t), testConfig(t)
	cfg.Deliver.HeldBytes, cfg.Deliver.BatchBytes = 1<<20, 1<<18
	cfg.Stream.AckWait = time.Second
	cfg.Deliver.BatchAge = time.Hour // only pressure flushes
	must(t, pipelines.Prepare(t.Context(), s.js, cfg))
	sink := newRecorder()
	var down atomic.Bool
	down.Store(true)
	sink.before = func(context.Context, []schemas.Message) error {
		if down.Load() {
			return errors.New("store is away")
		}
		return nil
	}
	d, stop := deliver(t, s, cfg, sink)
	var messages list
	for i := range 60 {
		messages = append(messages, noise(t, i, 1<<20))
	}
	must(t, publishAll(t.Context(), newPublisher(t, s, cfg), messages))
	eventually(t, "held up to the bound", func() bool { return d.Metrics().Snapshot().HeldBytes > int64(cfg.Deliver.HeldBytes) })
	time.Sleep(3 * cfg.Stream.AckWait) // nothing may pile up by being delivered again
	if most, got := int64(cfg.Deliver.HeldBytes+cfg.Deliver.PullBytes), d.Metrics().Snapshot().HeldBytes; got > most {
		t.Errorf("%d bytes held, want at most %d", got, most)
	}
	down.Store(false)
	eventually(t, "most stored", func() bool { return sink.len() > 40 })
	must(t, stop())
	deliver(t, s, testConfig(t), sink)
	eventually(t, "all stored by the next run", settled(t, s))
	if sink.len() != 60 {
		t.Errorf("stored %d of 60 messages", sink.len())
	}
}

func TestLargestMessageIsDelivered(t *testing.T) {
	t.Parallel()
	s, cfg := startStream(t), testConfig(t)
	must(t, pipelines.Prepare(t.Context(), s.js, cfg))
	sink := newRecorder()
	d, _ := deliver(t, s, cfg, sink)
	data := make([]byte, schemas.MaxMessageBytes+64<<10-100) // unreadable, and too large for the dead-letter stream with a reason
	_, err := s.js.Publish(t.Context(), "tap.step.0.0", data)
	must(t, err)
	publishSteps(t, s, cfg, 0, 3)
	eventually(t, "dead letter stored", func() bool { return len(sink.deadLetters(t)) == 1 && settled(t, s)() })
	letter := sink.deadLetters(t)[0]
	if letter.SizeBytes != uint64(len(data)) || !strings.HasPrefix(letter.Location, cfg.Publish.SpillDir) {
		t.Errorf("dead letter %+v, want %d bytes in the spill folder", letter, len(data))
	}
	if got := d.Metrics().Snapshot(); got.DeadLetters != 1 || sink.len() != 4 {
		t.Errorf("%+v, %d stored, want 1 dead letter, 4 stored", got, sink.len())
	}
}

func TestRejectedMessagesAreDeadLetteredAndTheRestStored(t *testing.T) {
	t.Parallel()
	s, cfg := startStream(t), testConfig(t)
	must(t, pipelines.Prepare(t.Context(), s.js, cfg))
	sink := newRecorder()
	sink.before = func(_ context.Context, messages []schemas.Message) error {
		reasons := map[int]string{}
		for i, m := range messages {
			if m.Header.Kind == "step" && m.Header.Identity.Batch%10 == 3 {
				reasons[i] = "value out of range"
			}
		}
		if len(reasons) == 0 {
			return nil
		}
		return &schemas.RejectedError{Reasons: reasons}
	}
	d, _ := deliver(t, s, cfg, sink)
	publishSteps(t, s, cfg, 0, 100)
	eventually(t, "dead letters stored", func() bool { return len(sink.deadLetters(t)) == 10 && settled(t, s)() })
	if got := d.Metrics().Snapshot(); got.Rejected != 10 || got.DeadLetters != 10 || len(sink.kind("step")) != 90 {
		t.Errorf("%+v, %d steps stored, want 10 rejected, 90 stored", got, len(sink.kind("step")))
	}
	if reason := sink.deadLetters(t)[0].Reason; reason != "refused by the store: value out of range" {
		t.Errorf("reason %q", reason)
	}
}

func TestSlowKindDoesNotHoldUpOthers(t *testing.T) {
	t.Parallel()
	s, cfg := startStream(t), testConfig(t)
	must(t, pipelines.Prepare(t.Context(), s.js, cfg))
	sink := newRecorder()
	release := make(chan struct{})
	sink.before = func(_ context.Context, messages []schemas.Message) error {
		if messages[0].Header.Kind == "step" {
			<-release
		}
		return nil
	}
	deliver(t, s, cfg, sink)
	publishSteps(t, s, cfg, 0, 50)
	must(t, publishAll(t.Context(), newPublisher(t, s, cfg), list{ops(t, identity(0), "a", "b")}))
	eventually(t, "ops stored while steps hang", func() bool { return len(sink.kind("op")) == 1 })
	close(release)
	eventually(t, "steps stored", func() bool { return len(sink.kind("step")) == 50 })
}

func TestConsumerDeletedUnderWayIsMadeAgain(t *testing.T) {
	t.Parallel()
	s, cfg := startStream(t), testConfig(t)
	must(t, pipelines.Prepare(t.Context(), s.js, cfg))
	sink := newRecorder()
	deliver(t, s, cfg, sink)
	publishSteps(t, s, cfg, 0, 100)
	eventually(t, "first stored", settled(t, s))
	must(t, s.js.DeleteConsumer(t.Context(), pipelines.StreamName, "store"))
	publishSteps(t, s, cfg, 100, 200)
	eventually(t, "all stored", func() bool { return sink.len() == 200 && settled(t, s)() })
}

func TestReplayDeliversEverythingOnceMore(t *testing.T) {
	t.Parallel()
	s, cfg := startStream(t), testConfig(t)
	must(t, pipelines.Prepare(t.Context(), s.js, cfg))
	sink := newRecorder()
	_, stop := deliver(t, s, cfg, sink)
	publishSteps(t, s, cfg, 0, 100)
	eventually(t, "first stored", settled(t, s))
	must(t, pipelines.Replay(t.Context(), s.js, cfg, "store"))
	eventually(t, "delivered again to the running delivery", func() bool { return sink.repeated() == 100 && settled(t, s)() })
	must(t, stop())
	must(t, pipelines.Replay(t.Context(), s.js, cfg, "store"))
	empty := newRecorder()
	deliver(t, s, cfg, empty)
	eventually(t, "an empty store filled", func() bool { return empty.len() == 100 && settled(t, s)() })
}

func TestStreamLostAndMadeAgainConfusesNoSequences(t *testing.T) {
	t.Parallel()
	s, cfg := startStream(t), testConfig(t)
	must(t, pipelines.Prepare(t.Context(), s.js, cfg))
	sink := newRecorder()
	release := make(chan struct{})
	sink.before = func(context.Context, []schemas.Message) error {
		<-release
		return nil
	}
	d, _ := deliver(t, s, cfg, sink)
	publishSteps(t, s, cfg, 0, 20)
	eventually(t, "all held", func() bool { return d.Metrics().Snapshot().HeldMessages == 20 })
	must(t, s.js.DeleteStream(t.Context(), pipelines.StreamName))
	eventually(t, "stream made again", func() bool {
		_, err := s.js.Consumer(t.Context(), pipelines.StreamName, "store")
		return err == nil
	})
	publishSteps(t, s, cfg, 20, 40) // the same numbers in the new stream
	eventually(t, "new ones held", func() bool { return d.Metrics().Snapshot().HeldMessages == 40 })
	close(release)
	eventually(t, "all stored", func() bool { return sink.len() == 40 && settled(t, s)() })
	if got := d.Metrics().Snapshot(); got.Unconfirmed != 20 {
		t.Errorf("%d written without acknowledgement, want the 20 of the lost stream", got.Unconfirmed)
	}
}

func TestUnorderedRedeliveryIsStoredOnce(t *testing.T) {
	t.Parallel()
	s, cfg := startStream(t), testConfig(t)
	must(t, pipelines.Prepare(t.Context(), s.js, cfg))
	publishSteps(t, s, cfg, 0, 50)
	consumer, err := s.js.Consumer(t.Context(), pipelines.StreamName, "store")
	must(t, err)
	batch, err := consumer.Fetch(50)
	must(t, err)
	for msg := range batch.Messages() {
		if meta, _ := msg.Metadata(); meta.Sequence.Stream%3 == 0 {
			must(t, msg.Nak()) // come again after all others
		} else if meta.Sequence.Stream%3 == 1 {
			must(t, msg.NakWithDelay(50*time.Millisecond))
		}
	}
	sink := newRecorder()
	deliver(t, s, cfg, sink)
	eventually(t, "all stored", func() bool { return sink.len() == 50 && settled(t, s)() })
}
