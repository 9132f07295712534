package system

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/tensortap/tensortap/internal/audit"
	"github.com/tensortap/tensortap/pipelines"
	"github.com/tensortap/tensortap/producers/agent"
	"github.com/tensortap/tensortap/schemas"
)

// askEvery is how often a request is made again, so that an agent that came late hears of it, too.
const askEvery = 100 * time.Millisecond

// ErrNobodyAsked says that no process of the run lives.
var ErrNobodyAsked = errors.New("no process of it lives")

// Asked is what became of a request.
type Asked struct {
	Answers []agent.Answer `json:"answers"`          // by rank
	Silent  []uint32       `json:"silent,omitempty"` // ranks that live, as far as anyone knows, and of which no agent said a word
}

// Open says of how many ranks it is not known yet what they do.
func (a *Asked) Open() int {
	open := len(a.Silent)
	for i := range a.Answers {
		if !settledAnswer(&a.Answers[i]) {
			open++
		}
	}
	return open
}

// settledAnswer says whether nothing more will come by waiting a little.
func settledAnswer(a *agent.Answer) bool {
	return !slices.Contains([]string{agent.StatePending, agent.StateBusy, agent.StateUntold}, a.State)
}

// Ask asks the processes of a run, and waits until each has answered or patience ends, which is no error.
func (c *Client) Ask(ctx context.Context, run string, r agent.Request, patience time.Duration) (asked Asked, err error) {
	return c.AskFor(ctx, "", run, r, patience)
}

// AskFor is Ask for somebody whose token has that name, which the lines of audit say; nobody where it is empty.
func (c *Client) AskFor(ctx context.Context, token, run string, r agent.Request, patience time.Duration) (asked Asked, err error) {
	deed := deedOf(run, &r)
	if token != "" {
		deed.Details["token"] = token
	}
	err = c.audited(ctx, deed, func() (audit.Outcome, error) {
		asked, err = c.askUnheard(ctx, run, r, patience)
		return outcomeOf(&asked, err), err
	})
	return asked, err
}

// askUnheard is Ask without lines of audit, for what is asked again.
func (c *Client) askUnheard(ctx context.Context, run string, r agent.Request, patience time.Duration) (Asked, error) { //nolint:gocritic // copied to be changed
	r.RunID, r.Sequence, r.By = schemas.RunID(run), cmp.Or(r.Sequence, rand.Uint32()|1), c.who().String() //nolint:gosec // tells requests apart, no secret
	asked, err := c.ask(ctx, &r, patience)
	if err != nil {
		return asked, fmt.Errorf("ask run %s to %s: %w", run, r.Do, err)
	}
	return asked, nil
}

func (c *Client) ask(ctx context.Context, r *agent.Request, patience time.Duration) (Asked, error) {
	if err := r.Check(); err != nil {
		return Asked{}, err
	}
	living, err := c.living(ctx, r)
	if err != nil {
		return Asked{}, err
	}
	q := question{request: r, living: living, answers: map[uint32]agent.Answer{}}
	return q.ask(ctx, c.stream.Conn(), patience)
}

// living is the ranks that are asked and live.
func (c *Client) living(ctx context.Context, r *agent.Request) ([]uint32, error) {
	states, err := pipelines.RankStates(ctx, c.stream, r.RunID)
	if err != nil {
		return nil, err
	}
	if len(states) == 0 {
		return nil, fmt.Errorf("%w: no run of that name was ever recorded live", ErrNobodyAsked)
	}
	return livingOf(states, r.Ranks)
}

// livingOf is the ranks of states that live: all of them, or those that are asked, each of which must.
func livingOf(states map[uint32]string, asked []int64) ([]uint32, error) {
	known := slices.Sorted(maps.Keys(states))
	living := slices.DeleteFunc(slices.Clone(known), func(rank uint32) bool { return states[rank] != pipelines.StartLives })
	if len(living) == 0 {
		return nil, fmt.Errorf("%w: all of its %d ranks have ended or died", ErrNobodyAsked, len(states))
	}
	if len(asked) == 0 {
		return living, nil
	}
	for _, rank := range asked {
		is := func(other uint32) bool { return int64(other) == rank }
		if !slices.ContainsFunc(known, is) {
			return nil, fmt.Errorf("it has no rank %d; its ranks are %d", rank, known)
		}
		if !slices.ContainsFunc(living, is) {
			return nil, fmt.Errorf("rank %d has ended or died; those that live are %d", rank, living)
		}
	}
	return slices.DeleteFunc(living, func(rank uint32) bool { return !slices.Contains(asked, int64(rank)) }), nil
}

// question is one call of Ask.
type question struct {
	request *agent.Request
	living  []uint32
	answers map[uint32]agent.Answer
}

func (q *question) ask(ctx context.Context, connection *nats.Conn, patience time.Duration) (Asked, error) {
	inbox := connection.NewInbox()
	heard, err := connection.SubscribeSync(inbox)
	if err != nil {
		return Asked{}, err
	}
	defer heard.Unsubscribe() //nolint:errcheck // nothing more is heard of it
	text, err := json.Marshal(q.request)
	if err != nil {
		return Asked{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for q.open() && ctx.Err() == nil {
		if err := connection.PublishRequest(pipelines.ControlSubjects+schemas.FormatID(q.request.RunID), inbox, text); err != nil {
			return Asked{}, err
		}
		if err := q.hear(ctx, heard); err != nil {
			return Asked{}, err
		}
	}
	if errors.Is(ctx.Err(), context.Canceled) {
		return Asked{}, context.Cause(ctx)
	}
	return q.result(), nil
}

// hear takes answers in until it is time to ask again.
func (q *question) hear(ctx context.Context, heard *nats.Subscription) error {
	ctx, cancel := context.WithTimeout(ctx, askEvery)
	defer cancel()
	for {
		m, err := heard.NextMsgWithContext(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if errors.Is(err, nats.ErrNoResponders) { // no agent serves the run just now
			continue
		}
		if err != nil {
			return err
		}
		var answer agent.Answer
		if json.Unmarshal(m.Data, &answer) == nil {
			q.take(&answer)
		}
	}
}

// take keeps the newest answer of each rank. That of a process that has gone takes the place of no other.
func (q *question) take(a *agent.Answer) {
	known, ok := q.answers[a.Rank]
	if a.Sequence == q.request.Sequence && (!ok || !settledAnswer(&known) || settledAnswer(a)) {
		q.answers[a.Rank] = *a
	}
}

func (q *question) open() bool {
	result := q.result()
	return result.Open() > 0
}

func (q *question) result() Asked {
	var result Asked
	for _, rank := range q.living {
		if _, ok := q.answers[rank]; !ok {
			result.Silent = append(result.Silent, rank)
		}
	}
	result.Answers = slices.SortedFunc(maps.Values(q.answers), func(a, b agent.Answer) int { return cmp.Compare(a.Rank, b.Rank) })
	return result
}
