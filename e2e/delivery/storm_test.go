package delivery

import (
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"

	"github.com/tensortap/tensortap/e2e/internal/program"
)

// forgotten is for how long the stream knows a message at least.
const forgotten = 100 * time.Millisecond

// TestAStormOfDuplicatesIsStoredOnce publishes each message of two runs twenty times more, to a
// stream that forgets at once which messages it has: only the sinks know.
func TestAStormOfDuplicatesIsStoredOnce(t *testing.T) {
	t.Parallel()
	const times = 20
	u := program.StartUp(t, t.TempDir(), "--archive-age", "100ms")
	twoRuns(t, u)
	want := sums(t, u)
	js := program.ConnectStream(t, u.Endpoint.NATS)
	forgets(t, js)
	messages := keptMessages(t, js)
	for range times {
		publishAgain(t, js, messages)
		time.Sleep(forgotten + forgotten/2)
	}
	awaitStored(t, js, "clickhouse", "parquet")
	requireSums(t, u, want)
	if out := program.Run(t, u.Setting, "verify"); out.Status != 0 || !strings.HasSuffix(out.Stdout, "nothing is lost, nothing is damaged\n") {
		t.Errorf("verify: %v", out)
	}
	stream, err := js.Stream(t.Context(), "TAP")
	if err != nil {
		t.Fatal(err)
	}
	delivered := int(stream.CachedInfo().State.Msgs)
	if delivered < 4*len(messages) {
		t.Errorf("the stream took %d messages, of which %d are different: it was no storm", delivered, len(messages))
	}
	t.Logf("%d messages, %d in the stream", len(messages), delivered)
}

// forgets sets for how long the stream knows which messages it has, to as little as it takes.
func forgets(tb testing.TB, js jetstream.JetStream) {
	tb.Helper()
	stream, err := js.Stream(tb.Context(), "TAP")
	if err != nil {
		tb.Fatal(err)
	}
	next := stream.CachedInfo().Config
	next.Duplicates = forgotten
	if _, err := js.UpdateStream(tb.Context(), next); err != nil {
		tb.Fatal(err)
	}
}

// keptMessages are all messages of the stream.
func keptMessages(tb testing.TB, js jetstream.JetStream) (messages []*nats.Msg) {
	tb.Helper()
	stream, err := js.Stream(tb.Context(), "TAP")
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
	var group errgroup.Group
	for _, m := range messages {
		group.Go(func() error {
			_, err := js.PublishMsg(tb.Context(), &nats.Msg{Subject: m.Subject, Data: m.Data, Header: m.Header})
			return err
		})
	}
	if err := group.Wait(); err != nil {
		tb.Fatal(err)
	}
}
