package delivery

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"

	"github.com/tensortap/tensortap/e2e/internal/program"
	"github.com/tensortap/tensortap/internal/dev/recorded"
	"github.com/tensortap/tensortap/pipelines"
)

// forgotten is for how long the stream knows a message at least.
const forgotten = 100 * time.Millisecond

// TestAStormOfDuplicatesIsStoredOnce publishes each message of three runs twenty times more, one time after the other and then twenty
// publishers at once, to a stream that forgets at once which messages it has: only the sinks know.
func TestAStormOfDuplicatesIsStoredOnce(t *testing.T) {
	t.Parallel()
	const times = 20
	u := program.StartUp(t, t.TempDir(), "--archive-age", "100ms")
	twoRuns(t, u)
	u.Publish(t, recorded.Unpack(t, "D_ddp_golden"), "third")
	js := program.ConnectStream(t, u.Endpoint.NATS)
	awaitStored(t, js, "clickhouse", "parquet")
	want := sums(t, u)
	forgets(t, js)
	messages := keptMessages(t, js)
	for range times {
		publishAgain(t, js, messages)
		time.Sleep(forgotten + forgotten/2)
	}
	var atOnce errgroup.Group
	for range times {
		own := program.ConnectStream(t, u.Endpoint.NATS)
		atOnce.Go(func() error { return publishEach(t.Context(), own, messages) })
	}
	if err := atOnce.Wait(); err != nil {
		t.Fatal(err)
	}
	awaitStored(t, js, "clickhouse", "parquet")
	requireSums(t, u, want)
	if out := program.Run(t, u.Setting, "verify"); out.Status != 0 || !strings.HasSuffix(out.Stdout, "nothing is lost, nothing is damaged\n") {
		t.Errorf("verify: %v", out)
	}
	stream, err := js.Stream(t.Context(), pipelines.StreamName)
	if err != nil {
		t.Fatal(err)
	}
	delivered := int(stream.CachedInfo().State.Msgs)
	if delivered < 4*len(messages) {
		t.Errorf("the stream took %d messages, of which %d are different: it was no storm", delivered, len(messages))
	}
	t.Logf("%d messages, published %d times; %d in the stream", len(messages), (2*times+1)*len(messages), delivered)
}

// forgets sets for how long the stream knows which messages it has, to as little as it takes. It sets it twice: the server
// may look before it has taken the new time over, and then looks again only when the old time is over.
func forgets(tb testing.TB, js jetstream.JetStream) {
	tb.Helper()
	stream, err := js.Stream(tb.Context(), pipelines.StreamName)
	if err != nil {
		tb.Fatal(err)
	}
	next := stream.CachedInfo().Config
	for _, next.Duplicates = range []time.Duration{2 * forgotten, forgotten} {
		if _, err := js.UpdateStream(tb.Context(), next); err != nil {
			tb.Fatal(err)
		}
	}
}

// keptMessages are all messages of the stream.
func keptMessages(tb testing.TB, js jetstream.JetStream) (messages []*nats.Msg) {
	tb.Helper()
	stream, err := js.Stream(tb.Context(), pipelines.StreamName)
	if err != nil {
		tb.Fatal(err)
	}
	for sequence := uint64(1); sequence <= stream.CachedInfo().State.LastSeq; sequence++ {
		raw, err := stream.GetMsg(tb.Context(), sequence)
		if err != nil {
			tb.Fatal(err)
		}
		m := &nats.Msg{Subject: raw.Subject, Data: raw.Data, Header: nats.Header{}}
		for name, values := range raw.Header {
			if name == nats.MsgIdHdr || !strings.HasPrefix(name, "Nats-") {
				m.Header[name] = values
			}
		}
		messages = append(messages, m)
	}
	return messages
}

// publishAgain sends all of them at once.
func publishAgain(tb testing.TB, js jetstream.JetStream, messages []*nats.Msg) {
	tb.Helper()
	if err := publishEach(tb.Context(), js, messages); err != nil {
		tb.Fatal(err)
	}
}

func publishEach(ctx context.Context, js jetstream.JetStream, messages []*nats.Msg) error {
	ctx, cancel := context.WithTimeout(ctx, program.Patience) // for each answer; else it is five seconds
	defer cancel()
	var group errgroup.Group
	for _, m := range messages {
		group.Go(func() error {
			_, err := js.PublishMsg(ctx, &nats.Msg{Subject: m.Subject, Data: m.Data, Header: m.Header})
			return err
		})
	}
	return group.Wait()
}
