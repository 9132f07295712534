package pipelines

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/tensortap/tensortap/schemas"
)

// StreamShare is what the stream holds of one run and kind.
type StreamShare struct{ Messages, Rows, Bytes uint64 }

// Shareholder is a run and a kind of event.
type Shareholder struct {
	RunID uint64
	Kind  string
}

// StreamShares is what the stream holds, by run and kind. It reads the headers of all messages.
func StreamShares(ctx context.Context, js jetstream.JetStream) (map[Shareholder]StreamShare, error) {
	shares := map[Shareholder]StreamShare{}
	err := eachHead(ctx, js, ">", func(m jetstream.Msg, _ uint64) {
		kind, run := kindAndRun(m.Subject())
		s := shares[Shareholder{run, kind}]
		rows, _ := strconv.ParseUint(m.Headers().Get("Tap-Rows"), 10, 64)
		s.Messages, s.Rows, s.Bytes = s.Messages+1, s.Rows+rows, s.Bytes+sizeOf(m)
		shares[Shareholder{run, kind}] = s
	})
	if err != nil {
		return nil, fmt.Errorf("read what stream %s holds: %w", StreamName, err)
	}
	return shares, nil
}

// msgSizeHeader is how the server names the size of the data that it leaves out.
const msgSizeHeader = "Nats-Msg-Size"

// sizeOf is the room that a message takes in the stream, but for a few bytes.
func sizeOf(m jetstream.Msg) uint64 {
	size, _ := strconv.ParseUint(m.Headers().Get(msgSizeHeader), 10, 64)
	for name, values := range m.Headers() {
		for _, value := range values {
			size += uint64(len(name) + len(value) + len(": \r\n"))
		}
	}
	return size + uint64(len(m.Subject()))
}

func kindAndRun(subject string) (kind string, run uint64) {
	parts := strings.Split(Published(subject), ".")
	if len(parts) != 4 {
		return "", 0
	}
	run, err := schemas.ParseID(parts[2])
	if err != nil {
		return "", 0
	}
	return parts[1], run
}

// eachHead calls visit with the headers of each message under such subjects, and its place.
func eachHead(ctx context.Context, js jetstream.JetStream, rest string, visit func(m jetstream.Msg, place uint64)) error {
	last, err := placeOfLast(ctx, js, rest)
	if err != nil {
		return err
	}
	for after := uint64(0); after < last; {
		seen, err := headsAfter(ctx, js, rest, after, visit)
		if err != nil {
			return err
		}
		if seen == after { // the rest was purged meanwhile, or the server cannot give it
			return nil
		}
		after = seen
	}
	return nil
}

// headsAfter visits what comes after a place, and returns the last place that it visited. A server that dies meanwhile falls
// silent, as one does that has no more.
func headsAfter(ctx context.Context, js jetstream.JetStream, rest string, after uint64, visit func(m jetstream.Msg, place uint64)) (uint64, error) {
	consumer, err := js.OrderedConsumer(ctx, StreamName, jetstream.OrderedConsumerConfig{
		DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: after + 1, FilterSubjects: InAnyShard(rest), HeadersOnly: true,
	})
	if err != nil || consumer.CachedInfo().NumPending == 0 {
		return after, err
	}
	messages, err := consumer.Messages()
	if err != nil {
		return after, err
	}
	defer messages.Stop()
	for {
		m, err := next(ctx, messages, readPatience)
		if errors.Is(err, errSilent) {
			return after, nil
		}
		if err != nil {
			return after, err
		}
		meta, err := m.Metadata()
		if err != nil {
			return after, err
		}
		after = meta.Sequence.Stream
		visit(m, after)
		if meta.NumPending == 0 {
			return after, nil
		}
	}
}

// Places are those of the messages of a run in the stream now, of the kinds that go.
func Places(ctx context.Context, js jetstream.JetStream, runID uint64, goes func(kind string) bool) (places schemas.BatchSet, kinds []string, err error) {
	seen := map[string]bool{}
	err = eachHead(ctx, js, "*."+schemas.FormatID(runID)+".*", func(m jetstream.Msg, place uint64) {
		kind, _ := kindAndRun(m.Subject())
		if !goes(kind) {
			return
		}
		places.Add(place)
		if !seen[kind] {
			seen[kind] = true
			kinds = append(kinds, kind)
		}
	})
	if err != nil {
		return places, nil, fmt.Errorf("look where run %s is in the stream: %w", schemas.FormatID(runID), err)
	}
	return places, kinds, nil
}

// RunsInStream are those that the stream has messages of now. It asks the server once, for however many runs.
func RunsInStream(ctx context.Context, js jetstream.JetStream) (map[uint64]bool, error) {
	stream, err := js.Stream(ctx, StreamName)
	if err != nil {
		return nil, fmt.Errorf("look at the stream: %w", err)
	}
	info, err := stream.Info(ctx, jetstream.WithSubjectFilter(">"))
	if err != nil {
		return nil, fmt.Errorf("list the runs in the stream: %w", err)
	}
	runs := map[uint64]bool{}
	for subject := range info.State.Subjects {
		_, run := kindAndRun(subject)
		runs[run] = true
	}
	return runs, nil
}

// PurgeRun removes the messages of a run and of these kinds from the stream, up to that place.
func PurgeRun(ctx context.Context, js jetstream.JetStream, runID uint64, kinds []string, last uint64) error {
	stream, err := js.Stream(ctx, StreamName)
	if err != nil {
		return fmt.Errorf("purge run %s: %w", schemas.FormatID(runID), err)
	}
	for _, kind := range kinds {
		for _, subject := range InAnyShard(kind + "." + schemas.FormatID(runID) + ".*") {
			if err := stream.Purge(ctx, jetstream.WithPurgeSubject(subject), jetstream.WithPurgeSequence(last+1)); err != nil {
				return fmt.Errorf("purge %s: %w", subject, err)
			}
		}
	}
	return nil
}

// ForgetSources removes the claims and starts of a run: no mark stays of them.
func ForgetSources(ctx context.Context, js jetstream.JetStream, runID uint64) error {
	stream, err := js.Stream(ctx, "KV_"+SourceBucket)
	if err != nil {
		return fmt.Errorf("forget what was published of run %s: %w", schemas.FormatID(runID), err)
	}
	id := schemas.FormatID(runID)
	for _, keys := range []string{id + ".>", "beside." + id + ".>"} {
		if err := stream.Purge(ctx, jetstream.WithPurgeSubject("$KV."+SourceBucket+"."+keys)); err != nil {
			return fmt.Errorf("forget what was published of run %s: %w", id, err)
		}
	}
	return nil
}
