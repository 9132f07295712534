package pipelines

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"
	"golang.org/x/sync/errgroup"
)

const (
	// shareEvery is how often leases are renewed, and free numbers looked for.
	shareEvery = time.Second
	// sharePatience bounds one such look.
	sharePatience = 2 * time.Second
)

// Shares divides numbered work among the workers of a group: each number is one worker's, and all have about as many.
// What a worker had that died is another's within LeaseAge and a second. The old one may still be at work if it was only
// thought dead: whoever stores what comes of it has to refuse the old one.
type Shares struct {
	js     jetstream.JetStream
	leases *Leases
	group  string
	count  int
	member string
	log    zerolog.Logger

	terms  map[int]*term // this and the next are of the goroutine of Run
	silent int           // looks in a row that nobody answered
	ended  chan int
}

// term is the time for which a number is this worker's.
type term struct {
	stop   context.CancelFunc
	ending bool // it was told to end
}

func (t *term) end() {
	t.ending = true
	t.stop()
}

// OpenShares takes part in a group whose work has the numbers below count. Holder says who takes part, and is no other's.
func OpenShares(ctx context.Context, js jetstream.JetStream, group string, count int, holder string, log zerolog.Logger) (*Shares, error) {
	leases, err := OpenLeases(ctx, js, holder)
	if err != nil {
		return nil, err
	}
	return &Shares{
		js: js, leases: leases, group: group, count: count, member: rand.Text(), log: log.With().Str("group", group).Logger(),
		terms: map[int]*term{}, ended: make(chan int),
	}, nil
}

func (s *Shares) key(number int) string { return fmt.Sprintf("%s.number.%d", s.group, number) }

func (s *Shares) memberKey(member string) string { return s.group + ".member." + member }

// Run works on this worker's numbers until ctx ends. The context of work ends with its term. A term that ends by itself is
// followed by another, here or elsewhere.
func (s *Shares) Run(ctx context.Context, work func(ctx context.Context, number int) error) error {
	var group errgroup.Group
	begin := func(number int) {
		working, stop := context.WithCancel(ctx)
		s.terms[number] = &term{stop: stop}
		s.log.Info().Int("shard", number).Msg("a shard is this process's from now on")
		group.Go(func() error {
			defer stop()
			s.work(working, number, work)
			return nil
		})
	}
	tick := time.NewTicker(shareEvery)
	defer tick.Stop()
	for !s.js.Conn().IsClosed() && ctx.Err() == nil {
		s.look(ctx, begin)
		select {
		case number := <-s.ended:
			s.finish(ctx, number)
		case <-tick.C:
		case <-ctx.Done():
		}
	}
	s.leave(ctx)
	err := group.Wait()
	if ctx.Err() == nil {
		return fmt.Errorf("share the work of %s: %w", s.group, nats.ErrConnectionClosed)
	}
	return err
}

// work is one term. After one that failed the next begins a little later.
func (s *Shares) work(ctx context.Context, number int, work func(ctx context.Context, number int) error) {
	if err := work(ctx, number); err != nil && ctx.Err() == nil {
		s.log.Warn().Err(err).Int("shard", number).Msg("a shard is given up, whoever takes it goes on")
		_ = pause(ctx, shareEvery)
	}
	s.ended <- number
}

// look renews what is held, and takes and gives until this worker has its share. What fails is tried again.
func (s *Shares) look(ctx context.Context, begin func(number int)) {
	looking, cancel := context.WithTimeout(ctx, sharePatience)
	defer cancel()
	members, err := s.renew(looking)
	if err == nil {
		fair := (s.count + members - 1) / members
		s.giveAway(fair)
		err = s.takeFree(looking, fair, begin)
	}
	s.silent++
	if err == nil {
		s.silent = 0
	} else if ctx.Err() == nil {
		s.log.Warn().Err(err).Msg("the stream's server does not say whose the shards are, asking again")
		s.leaveSilentServer(ctx)
	}
}

// renew keeps what is this worker's, ends the terms of what is no more, and counts the workers.
func (s *Shares) renew(ctx context.Context) (members int, err error) {
	if _, err := s.leases.Take(ctx, s.memberKey(s.member)); err != nil {
		return 0, err
	}
	for number, t := range s.terms {
		if t.ending {
			continue
		}
		mine, err := s.leases.Take(ctx, s.key(number))
		if err != nil {
			return 0, err
		}
		if !mine {
			s.log.Warn().Int("shard", number).Msg("a shard is another process's by now")
			t.end()
		}
	}
	return s.members(ctx)
}

// members counts the workers; one that died lately is among them.
func (s *Shares) members(ctx context.Context) (int, error) {
	bucket, err := s.js.Stream(ctx, "KV_"+LeaseBucket)
	if err != nil {
		return 0, fmt.Errorf("count who shares %s: %w", s.group, err)
	}
	info, err := bucket.Info(ctx, jetstream.WithSubjectFilter("$KV."+LeaseBucket+"."+s.memberKey("*")))
	if err != nil {
		return 0, fmt.Errorf("count who shares %s: %w", s.group, err)
	}
	return max(1, len(info.State.Subjects)), nil
}

// giveAway ends terms of which there are more than this worker's share.
func (s *Shares) giveAway(fair int) {
	going := 0
	for _, t := range s.terms {
		switch {
		case t.ending:
		case going == fair:
			t.end()
		default:
			going++
		}
	}
}

// takeFree takes numbers that nobody has, each worker beginning at another.
func (s *Shares) takeFree(ctx context.Context, fair int, begin func(number int)) error {
	first := int(s.member[0]) % s.count
	for i := range s.count {
		number := (first + i) % s.count
		if len(s.terms) >= fair {
			return nil
		}
		if s.terms[number] != nil {
			continue
		}
		mine, err := s.leases.Take(ctx, s.key(number))
		if err != nil {
			return err
		}
		if mine {
			begin(number)
		}
	}
	return nil
}

// finish gives back the number of a term that has ended.
func (s *Shares) finish(ctx context.Context, number int) {
	giving, cancel := context.WithTimeout(context.WithoutCancel(ctx), sharePatience)
	defer cancel()
	s.leases.GiveBack(giving, s.key(number))
	delete(s.terms, number)
}

// leave ends all terms, and gives each number back as its term has ended.
func (s *Shares) leave(ctx context.Context) {
	for _, t := range s.terms {
		t.end()
	}
	for len(s.terms) > 0 {
		s.finish(ctx, <-s.ended)
	}
	s.leases.LetGo(context.WithoutCancel(ctx))
}

// mostSilent is how many looks a server may leave without an answer that may be cut off from the others.
const mostSilent = 3

// leaveSilentServer has the connection use another server of the cluster where its own does not answer, which the library
// would find out in a minute, or has been cut off from the others, which it never would.
func (s *Shares) leaveSilentServer(ctx context.Context) {
	conn := s.js.Conn()
	if !conn.IsConnected() || len(conn.Servers()) < 2 {
		return
	}
	asking, cancel := context.WithTimeout(ctx, sharePatience)
	defer cancel()
	if answers := conn.FlushWithContext(asking) == nil; answers && s.silent < mostSilent || ctx.Err() != nil {
		return
	}
	s.silent = 0
	s.log.Warn().Str("server", withoutLogin(conn.ConnectedUrl())).Msg("a NATS server does not answer, going to another")
	_ = conn.ForceReconnect() // only a closed connection refuses
}

// withoutLogin is an address without its user and password.
func withoutLogin(address string) string {
	return address[strings.LastIndexByte(address, '@')+1:]
}
