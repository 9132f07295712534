package system

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/rs/zerolog"

	"github.com/tensortap/tensortap/internal/audit"
	"github.com/tensortap/tensortap/pipelines"
)

// A question is repeated until the answer is there: a round takes as long as the stores are large.
const (
	askHealEvery  = 200 * time.Millisecond
	askHealFor    = time.Minute // without a word
	healsAtOnce   = 16          // that wait, and answers that are kept
	caughtUpEvery = time.Second // to ask how far a store is, for what nobody waits for
)

var errFleetHeals = errors.New("only `tensortap up` mends its stores; what the tables or an archive that `tensortap consume` fills lack is stored again from the stream or by `tensortap restore`: docs/roles.md says how")

// ErrNobodyHeals says that no system is there that could mend its stores.
var ErrNobodyHeals = errors.New("no running system answers")

// mostParts is how many rounds read all checksums, one an hour all in a day.
const mostParts = 24

// rounds has one round after the other heal the stores.
type rounds struct {
	healer  *healer
	every   time.Duration // between two by itself; never where it is 0
	first   bool          // it checks at once, too
	log     zerolog.Logger
	now     func() time.Time
	waiting chan string

	deletions *deleting

	mu       sync.Mutex
	answers  map[string]*Healing // by question; nil while it waits
	answered []string            // questions in the order of their answers, of which the oldest are forgotten
}

func newRounds(h *healer, cfg Config) *rounds {
	return &rounds{
		healer: h, every: cfg.CheckEvery, first: cfg.Replay == ReplayNothing && !cfg.Unannounced, log: cfg.Log, now: cfg.Now,
		waiting: make(chan string, healsAtOnce), answers: map[string]*Healing{},
	}
}

// listen takes questions until the subscription is ended. Who asks the same again is told whether the answer is there.
func (r *rounds) listen(connection *nats.Conn) (*nats.Subscription, error) {
	heard, err := connection.Subscribe(pipelines.HealSubject, func(m *nats.Msg) {
		if answer, err := json.Marshal(r.answer(string(m.Data))); err == nil {
			_ = m.Respond(answer) // one that is lost is asked for again
		}
	})
	if err != nil {
		return nil, fmt.Errorf("listen for who asks to heal: %w", err)
	}
	return heard, nil
}

// answer is nil while there is none.
func (r *rounds) answer(question string) *Healing {
	r.mu.Lock()
	defer r.mu.Unlock()
	if answer, known := r.answers[question]; known {
		return answer
	}
	select {
	case r.waiting <- question:
		r.answers[question] = nil
	default: // asked again, it may find room
	}
	return nil
}

// run heals as it is asked to, and checks from time to time by itself, until ctx ends.
func (r *rounds) run(ctx context.Context) {
	var due <-chan time.Time
	next := part{of: mostParts}
	if r.every > 0 {
		tick := time.NewTicker(r.every)
		defer tick.Stop()
		due = tick.C
		next.index = uint64(r.now().UnixNano()/int64(r.every)) % next.of //nolint:gosec // a system that is started often reads other parts each time
	}
	r.deletions.sweepOthers(ctx)
	if r.first {
		r.check(ctx, r.start)
	}
	for {
		select {
		case <-ctx.Done():
			return
		case question := <-r.waiting:
			r.round(ctx, question)
		case <-r.deletions.wanted():
			r.deletions.all(ctx)
		case <-due:
			r.deletions.sweep(ctx)
			r.check(ctx, func(ctx context.Context) (*Healing, error) { return r.healer.check(ctx, next) })
			next.index = (next.index + 1) % next.of
		}
	}
}

// start is the first check: by ledgers alone, unless archive or tables are known to be damaged.
func (r *rounds) start(ctx context.Context) (*Healing, error) {
	damaged, err := r.healer.knowsDamage(ctx)
	switch {
	case err != nil:
		return &Healing{}, err
	case damaged:
		return r.healer.heal(ctx)
	case r.every > 0:
		return r.healer.check(ctx, part{})
	}
	return &Healing{}, nil
}

// check is a round that nobody asked for: it says what it finds.
func (r *rounds) check(ctx context.Context, how func(context.Context) (*Healing, error)) {
	result, err := how(ctx)
	if ctx.Err() != nil {
		return
	}
	if err != nil {
		r.log.Warn().Err(err).Msg("not known whether stream, tables and archive are whole")
	}
	for _, text := range result.Healed {
		r.log.Error().Str("mended", text).Msg("events were lost or damaged in one place, and are there again")
	}
	for _, text := range result.Left {
		r.log.Error().Str("lost", text).Msg("events are lost or damaged in one place: see `tensortap verify --heal`")
	}
}

func (r *rounds) round(ctx context.Context, question string) {
	_, by, _ := strings.Cut(question, " ")
	r.log.Log().Str("audit", "heal").Str("by", named(by)).Msg("asked to mend the stores")
	result, err := r.healer.heal(ctx)
	if err != nil {
		result.Error = err.Error()
	}
	r.keep(question, result)
}

// keep has the answer there for who asks again, until it is old.
func (r *rounds) keep(question string, result *Healing) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answers[question] = result
	if r.answered = append(r.answered, question); len(r.answered) > healsAtOnce {
		delete(r.answers, r.answered[0])
		r.answered = r.answered[1:]
	}
}

// Heal has the running system hold its stores against each other and mend each from the others.
func (c *Client) Heal(ctx context.Context) (result *Healing, err error) {
	err = c.audited(ctx, audit.Deed{Name: "heal"}, func() (audit.Outcome, error) {
		result, err = c.heal(ctx)
		return result.outcome(err), err
	})
	return result, err
}

// outcome is what came of it, for the line of audit.
func (h *Healing) outcome(err error) audit.Outcome {
	switch {
	case err != nil || h == nil:
		return audit.Of(err)
	case h.Error != "":
		return audit.Outcome{Result: audit.Failed, Reason: h.Error}
	case len(h.Left) > 0:
		return audit.Outcome{Result: audit.Partly, Reason: fmt.Sprintf("%d mended, %d left", len(h.Healed), len(h.Left))}
	}
	return audit.Outcome{Result: audit.Done}
}

// heal asks with a word of its own, and who it is.
func (c *Client) heal(ctx context.Context) (*Healing, error) {
	if shared, err := isShared(ctx, c.stream); err != nil || shared {
		return nil, cmp.Or(err, errFleetHeals)
	}
	question, heard := []byte(rand.Text()+" "+c.who().String()), c.now()
	for {
		answer, err := c.askHeal(ctx, question)
		if answer != nil || ctx.Err() != nil {
			return answer, ctx.Err()
		}
		if err == nil {
			heard = c.now()
		}
		if c.now().Sub(heard) > askHealFor {
			return nil, fmt.Errorf("heal: %w: %w", ErrNobodyHeals, err)
		}
		select {
		case <-time.After(askHealEvery):
		case <-ctx.Done():
		}
	}
}

// askHeal is nil while there is no answer; an error says that nobody heard.
func (c *Client) askHeal(ctx context.Context, question []byte) (*Healing, error) {
	asking, cancel := context.WithTimeout(ctx, askHealFor)
	defer cancel()
	m, err := c.stream.Conn().RequestWithContext(asking, pipelines.HealSubject, question)
	if err != nil {
		return nil, err
	}
	var answer *Healing
	err = json.Unmarshal(m.Data, &answer)
	return answer, err
}
