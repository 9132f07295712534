package doctor

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/tensortap/tensortap/internal/plural"
	"github.com/tensortap/tensortap/pipelines"
	"github.com/tensortap/tensortap/schemas"
)

// A clock that is off by so much puts events of two hosts into a wrong order. A sign of life of a rank comes to the stream
// up to some seconds after it was given.
const (
	mostSkew   = 2 * time.Second
	mostDelay  = 30 * time.Second
	mostSilent = time.Minute
	mostRanks  = 20000 // whose signs of life are looked at
)

// skew is how far the clock of this host is before a server's, which told its time after it was asked and before it had answered:
// between the two, however slow it is, all is well.
func skew(asked, answered, told time.Time) time.Duration {
	switch {
	case told.Before(asked):
		return asked.Sub(told)
	case told.After(answered):
		return answered.Sub(told)
	}
	return 0
}

// ownClock looks how far the clock of this host is before that of the stream's server.
func (e *examination) ownClock(skew time.Duration) {
	if skew.Abs() > mostSkew {
		e.wrong("clocks", "set the clocks of both by NTP", "the clock of this host is %s that of the stream's server", apart(skew))
	}
}

// apart says how far and to which side.
func apart(skew time.Duration) string {
	if skew < 0 {
		return fmt.Sprintf("%v behind", skew.Abs().Round(time.Millisecond))
	}
	return fmt.Sprintf("%v before", skew.Round(time.Millisecond))
}

// rankOfRun is a rank, and whose it is.
type rankOfRun struct {
	run  string // its id
	rank uint32
}

// sign is the last sign of life of a rank.
type sign struct {
	rankOfRun

	given time.Time // by the clock of the rank, or of its agent
	came  time.Time // by the clock of the stream's server
}

// signs looks at what was last heard of each rank: whose clock is off, and who is silent.
func (e *examination) signs(ctx context.Context, js jetstream.JetStream) error {
	found, err := lastSigns(ctx, js)
	if err != nil {
		return fmt.Errorf("look at the signs of life: %w", err)
	}
	off, silent := map[string]int{}, map[string][]uint32{}
	worst := map[string]time.Duration{}
	for _, s := range found {
		if e.in.Now().Sub(s.came) > mostSilent {
			silent[s.run] = append(silent[s.run], s.rank)
			continue // what comes late says nothing of a clock
		}
		if skew := s.given.Sub(s.came); skew > mostSkew || skew < -mostDelay {
			off[s.run]++
			if skew.Abs() > worst[s.run].Abs() {
				worst[s.run] = skew
			}
		}
	}
	for _, run := range slices.Sorted(maps.Keys(off)) {
		e.wrong("clocks", "set the clocks of their hosts by NTP", "the clocks of %s of run %s are off: that of one is %s that of the stream's server",
			plural.Of(off[run], "rank"), nameOf(ctx, js, run), apart(worst[run]))
	}
	if len(off) == 0 {
		e.well("clocks", "of %s just heard of none is off", plural.Of(len(found)-total(silent), "rank"))
	}
	return e.silent(ctx, js, silent)
}

func total(ranks map[string][]uint32) (count int) {
	for _, some := range ranks {
		count += len(some)
	}
	return count
}

// silent says which of the silent ranks live, as far as anyone knows: their host, their agent or the way from there is gone.
func (e *examination) silent(ctx context.Context, js jetstream.JetStream, ranks map[string][]uint32) error {
	for _, run := range slices.Sorted(maps.Keys(ranks)) {
		id, err := strconv.ParseUint(run, 16, 64)
		if err != nil {
			continue // no subject of ours
		}
		states, err := pipelines.RankStates(ctx, js, id)
		if err != nil {
			return err
		}
		lost := slices.DeleteFunc(ranks[run], func(rank uint32) bool { return states[rank] != pipelines.StartLives })
		if len(lost) == 0 {
			continue
		}
		name := nameOf(ctx, js, run)
		e.wrong("agents", "look at their hosts: whether the process is there, and an agent that reaches the stream; `tensortap report ranks` says which hosts",
			"%s of run %s %s not ended, as far as anyone knows, but not been heard of for more than a minute", plural.Of(len(lost), "rank"), name, plural.Verb(len(lost), "has", "have"))
	}
	return nil
}

// lastSigns are the last signs of life of all ranks that the stream has one of.
func lastSigns(ctx context.Context, js jetstream.JetStream) ([]sign, error) {
	consumer, err := js.CreateConsumer(ctx, pipelines.StreamName, jetstream.ConsumerConfig{
		FilterSubjects: pipelines.InAnyShard(schemas.Heartbeat().Kind() + ".>"), DeliverPolicy: jetstream.DeliverLastPerSubjectPolicy,
		AckPolicy: jetstream.AckNonePolicy, HeadersOnly: true, MemoryStorage: true, InactiveThreshold: patience,
	})
	if err != nil {
		return nil, err
	}
	defer js.DeleteConsumer(context.WithoutCancel(ctx), pipelines.StreamName, consumer.CachedInfo().Name) //nolint:errcheck // it ends by itself, too
	count := int(min(consumer.CachedInfo().NumPending, mostRanks))                                        //nolint:gosec // bounded
	if count == 0 {
		return nil, nil
	}
	batch, err := consumer.Fetch(count, jetstream.FetchContext(ctx))
	if err != nil {
		return nil, err
	}
	last := map[rankOfRun]sign{} // a rank has one before the stream was shared out, and one since
	for m := range batch.Messages() {
		if s, err := signOf(m); err == nil && !s.came.Before(last[s.rankOfRun].came) {
			last[s.rankOfRun] = s
		}
	}
	return slices.Collect(maps.Values(last)), batch.Error()
}

var errNoSign = errors.New("no sign of life of a rank")

// signOf reads a sign of life: it was published under tap.heartbeat.RUN.RANK, a header has the times of its first and last event.
func signOf(m jetstream.Msg) (sign, error) {
	words := strings.Split(pipelines.Published(m.Subject()), ".")
	const wanted = 4
	if len(words) != wanted {
		return sign{}, errNoSign
	}
	rank, err := strconv.ParseUint(words[3], 10, 32)
	if err != nil {
		return sign{}, errNoSign
	}
	meta, err := m.Metadata()
	if err != nil {
		return sign{}, err
	}
	var first, last int64
	if n, err := fmt.Sscan(m.Headers().Get("Tap-Event-Time-Ns"), &first, &last); err != nil || n != 2 || last == 0 {
		return sign{}, errNoSign
	}
	return sign{rankOfRun: rankOfRun{words[2], uint32(rank)}, given: time.Unix(0, last), came: meta.Timestamp}, nil
}

// nameOf is the name of a run, or its id where the stream no longer has the name.
func nameOf(ctx context.Context, js jetstream.JetStream, run string) string {
	last, err := pipelines.LastUnder(ctx, js, schemas.Run().Kind()+"."+run+".*")
	if last == nil || err != nil {
		return run
	}
	m, err := schemas.ParseMessage(pipelines.Published(last.Subject), last.Header, last.Data, last.Sequence)
	if err != nil {
		return run
	}
	rows, err := schemas.DecodeRows[schemas.RunRow](m)
	if err != nil || len(rows) == 0 {
		return run
	}
	return rows[len(rows)-1].Name
}
