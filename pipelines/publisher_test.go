package pipelines_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/tensortap/tensortap/pipelines"
	"github.com/tensortap/tensortap/schemas"
)

// noise is a message whose data does not compress.
func noise(tb testing.TB, batch, size int) schemas.Message {
	tb.Helper()
	random := rand.NewChaCha8([32]byte{byte(batch)})
	name := make([]byte, size)
	_, _ = random.Read(name)
	for i := range name {
		name[i] = 'A' + name[i]%64 // 6 bits of 8: S2 finds nothing to repeat
	}
	return ops(tb, identity(batch), string(name))
}

func TestServerRestartedWhilePublishingAndDelivering(t *testing.T) {
	t.Parallel()
	for _, together := range []int{1, 40} {
		t.Run(fmt.Sprintf("%d messages at a time", together), func(t *testing.T) {
			t.Parallel()
			restartWhilePublishing(t, together)
		})
	}
}

func restartWhilePublishing(t *testing.T, together int) {
	t.Helper()
	s, cfg := startStream(t), testConfig(t)
	must(t, pipelines.Prepare(t.Context(), s.js, cfg))
	sink := newRecorder()
	deliver(t, s, cfg, sink)
	p := newPublisher(t, s, cfg)
	var group errgroup.Group
	const total = 4000
	group.Go(func() error {
		for i := 0; i < total; i += together {
			if i%20 == 0 {
				time.Sleep(5 * time.Millisecond)
			}
			if err := p.PublishTogether(t.Context(), numbered(t, i, together)...); err != nil {
				return err
			}
		}
		return p.Flush(t.Context())
	})
	for range 3 {
		time.Sleep(150 * time.Millisecond)
		s.stop()
		time.Sleep(50 * time.Millisecond)
		s.start(t)
	}
	must(t, group.Wait())
	eventually(t, "all stored", func() bool { return sink.len() == total && settled(t, s)() })
	if got := p.Metrics().Snapshot(); got.Published+got.Duplicates != total {
		t.Errorf("%+v, want %d acknowledged", got, total)
	}
	info, err := s.js.Stream(t.Context(), pipelines.StreamName)
	must(t, err)
	if n := info.CachedInfo().State.Msgs; n != total {
		t.Errorf("%d messages in the stream, want %d", n, total)
	}
}

func TestFullStreamHoldsThePublisherUntilThereIsSpace(t *testing.T) {
	t.Parallel()
	s, cfg := startStream(t), testConfig(t)
	cfg.Stream.MaxBytes = 9 << 20
	cfg.Publish.WindowBytes = 4 << 20
	cfg.Publish.RetryMin, cfg.Publish.RetryMax = 10*time.Millisecond, 50*time.Millisecond
	must(t, pipelines.Prepare(t.Context(), s.js, cfg))
	states := make(chan pipelines.State, 1000)
	p, err := pipelines.NewPublisher(cfg.Publish, s.js, time.Now, func(s pipelines.State) { states <- s })
	must(t, err)
	var group errgroup.Group
	group.Go(func() error {
		for i := range 20 {
			if err := p.Publish(t.Context(), noise(t, i, 1<<20)); err != nil {
				return err
			}
		}
		return p.Flush(t.Context())
	})
	waiting := <-states
	if waiting.Waiting == nil || !strings.Contains(waiting.Waiting.Error(), "maximum bytes exceeded") {
		t.Errorf("state %v, want waiting for a full stream", waiting.Waiting)
	}
	cfg.Stream.MaxBytes = 64 << 20
	must(t, pipelines.Prepare(t.Context(), s.js, cfg))
	must(t, group.Wait())
	if got := p.Metrics().Snapshot(); got.Published != 20 || got.PublishRetries == 0 {
		t.Errorf("%+v, want 20 published, some of them again", got)
	}
	cfg.Stream.MaxBytes = 10 << 20
	if err := pipelines.Prepare(t.Context(), s.js, cfg); err == nil || !strings.Contains(err.Error(), "would be deleted") {
		t.Errorf("prepare with less space than is used: %v, want an error", err)
	}
}

func TestPublishEndsWithItsContextWhileTheStreamIsAway(t *testing.T) {
	t.Parallel()
	s, cfg := startStream(t), testConfig(t)
	must(t, pipelines.Prepare(t.Context(), s.js, cfg))
	p := newPublisher(t, s, cfg)
	s.stop()
	must(t, p.Publish(t.Context(), steps(t, identity(0), 1)))
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := p.Flush(ctx); err == nil || !strings.Contains(err.Error(), "flush 1 messages") {
		t.Errorf("Flush without a server: %v, want an error that counts 1 message", err)
	}
	s.start(t)
	must(t, p.Flush(t.Context()))
	if got := p.Metrics().Snapshot(); got.Published != 1 {
		t.Errorf("%+v, want 1 published once the server is back", got)
	}
}

func TestOversizeMessageIsSpilledAndDeadLettered(t *testing.T) {
	t.Parallel()
	s, cfg := startStream(t), testConfig(t)
	must(t, pipelines.Prepare(t.Context(), s.js, cfg))
	sink := newRecorder()
	deliver(t, s, cfg, sink)
	p := newPublisher(t, s, cfg)
	large := noise(t, 1, 12<<20)
	if len(large.Data) < 9<<20 {
		t.Fatalf("message of %d bytes, want at least 9 MiB", len(large.Data))
	}
	must(t, publishAll(t.Context(), p, list{steps(t, identity(0), 1), large, large, steps(t, identity(2), 1)}))
	eventually(t, "all stored", func() bool { return sink.len() == 3 && settled(t, s)() })
	letters := sink.deadLetters(t)
	if len(letters) != 1 || letters[0].Origin != "publisher" || !strings.Contains(letters[0].Reason, "limit 8388608") {
		t.Fatalf("dead letters %+v, want one by the publisher", letters)
	}
	if letters[0].Headers["Nats-Msg-Id"] != large.ID() {
		t.Errorf("headers %v, want the id %s", letters[0].Headers, large.ID())
	}
	file, err := os.ReadFile(letters[0].Location)
	must(t, err)
	if _, data, _ := bytes.Cut(file, []byte("\n\n")); !bytes.Equal(data, large.Data) {
		t.Errorf("%d bytes spilled, want the %d of the message", len(data), len(large.Data))
	}
}

func TestMessagesOfTheSameBytesAreTwoDeadLetters(t *testing.T) {
	t.Parallel()
	s, cfg := startStream(t), testConfig(t)
	must(t, pipelines.Prepare(t.Context(), s.js, cfg))
	sink := newRecorder()
	deliver(t, s, cfg, sink)
	p := newPublisher(t, s, cfg)
	large := noise(t, 1, 12<<20)
	next, other := large, large
	next.Header.Identity.Batch++
	other.Header.Identity.RunID++
	must(t, publishAll(t.Context(), p, list{large, next, other, large}))
	eventually(t, "all stored", func() bool { return sink.len() >= 3 && settled(t, s)() })
	files, digests := map[string]bool{}, map[uint64]bool{}
	for _, letter := range sink.deadLetters(t) {
		files[letter.Location], digests[letter.Digest] = true, true
	}
	if len(sink.deadLetters(t)) != 3 || len(files) != 3 || len(digests) != 3 {
		t.Errorf("%d dead letters of %d digests in %d files, want 3 of each", len(sink.deadLetters(t)), len(digests), len(files))
	}
}

func TestClaimRefusesOtherContent(t *testing.T) {
	t.Parallel()
	s, cfg := startStream(t), testConfig(t)
	must(t, pipelines.Prepare(t.Context(), s.js, cfg))
	claims := openClaims(t, s)
	ask := pipelines.ClaimRequest{RunID: 1, Rank: 2, Step: 3, Content: 10, EventTimeNs: 100}
	first, err := claims.Make(t.Context(), ask)
	must(t, err)
	if first.Generation != 0 || first.EventTimeNs != 100 || first.Done {
		t.Errorf("first claim %+v", first)
	}
	elsewhere := ask
	elsewhere.Step++
	if other, err := claims.Make(t.Context(), elsewhere); err != nil || other.Epoch == first.Epoch {
		t.Errorf("the same content at another step %+v, %v, want an epoch of its own", other, err)
	}
	ask.EventTimeNs = 200
	again, err := claims.Make(t.Context(), ask)
	must(t, err)
	if again.EventTimeNs != 100 || again.Epoch != first.Epoch || again.Done {
		t.Errorf("same content again %+v, want the time of the first", again)
	}
	must(t, claims.Finish(t.Context(), again))
	must(t, claims.Finish(t.Context(), first)) // another publisher of the same
	if done, err := claims.Make(t.Context(), ask); err != nil || !done.Done {
		t.Errorf("finished content %+v, %v, want done", done, err)
	}
	ask.Content = 11
	if _, err := claims.Make(t.Context(), ask); !isOther(err) {
		t.Errorf("other content: %v, want ErrOtherContent", err)
	}
	ask.Replace = true
	second, err := claims.Make(t.Context(), ask)
	must(t, err)
	ask.Content = 10
	third, err := claims.Make(t.Context(), ask)
	must(t, err)
	if second.Generation != 1 || third.Generation != 2 || third.Epoch == first.Epoch || second.Epoch == 11 {
		t.Errorf("replaced twice: %+v, %+v, want generations 1 and 2 with epochs of their own", second, third)
	}
	if err := claims.Finish(t.Context(), second); !isOther(err) {
		t.Errorf("finish replaced content: %v, want ErrOtherContent", err)
	}
}

func TestOneOfManyClaimsForOtherContentWins(t *testing.T) {
	t.Parallel()
	s, cfg := startStream(t), testConfig(t)
	must(t, pipelines.Prepare(t.Context(), s.js, cfg))
	claims := openClaims(t, s)
	won := make(chan uint64, 16)
	var group errgroup.Group
	for content := range uint64(16) {
		group.Go(func() error {
			c, err := claims.Make(t.Context(), pipelines.ClaimRequest{RunID: 1, Content: content})
			if isOther(err) {
				return nil
			}
			won <- c.Epoch
			return err
		})
	}
	must(t, group.Wait())
	if len(won) != 1 {
		t.Errorf("%d of 16 claims for other content won, want 1", len(won))
	}
}

func openClaims(tb testing.TB, s *stream) *pipelines.Claims {
	tb.Helper()
	claims, err := pipelines.OpenClaims(tb.Context(), s.js)
	must(tb, err)
	return claims
}

func isOther(err error) bool { return errors.Is(err, pipelines.ErrOtherContent) }

func TestPublishersThatAreClosedLeaveNothingOnTheirConnection(t *testing.T) {
	t.Parallel()
	s, cfg := startStream(t), testConfig(t)
	must(t, pipelines.Prepare(t.Context(), s.js, cfg))
	before := s.conn.NumSubscriptions()
	for i := range 20 {
		p := newPublisher(t, s, cfg)
		must(t, p.Publish(t.Context(), steps(t, identity(i), 1)))
		must(t, p.Flush(t.Context()))
		p.Close()
	}
	if after := s.conn.NumSubscriptions(); after > before {
		t.Errorf("%d subscriptions, before the publishers %d", after, before)
	}
}
