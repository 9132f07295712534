package load

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"

	"github.com/tensortap/tensortap/pipelines"
	"github.com/tensortap/tensortap/schemas"
)

// publishing is what a process of publishers is told as it begins.
type publishing struct {
	NATS, Dump, Spill  string
	Of                 fleetSize
	FirstAgent, Agents int // of all
	Tensors            int // of a step; 0 for all that were recorded
}

// fleetSize says which rank of which run an agent is for.
type fleetSize struct {
	Agents int
	Epoch  uint64
}

// runs is in how many runs the agents are.
const runs = 4

func runName(run int) string { return fmt.Sprint("load-", run) }

// ranks is how many each run has.
func (s fleetSize) ranks() int { return (s.Agents + runs - 1) / runs }

func (s fleetSize) runOf(agent int) string { return runName(agent / s.ranks()) }

// identity is that of the agent's first batch.
func (s fleetSize) identity(agent int) schemas.Identity {
	return schemas.Identity{RunID: schemas.RunID(s.runOf(agent)), Rank: uint32(agent % s.ranks()), Epoch: s.Epoch} //nolint:gosec // few
}

// order is a line that the parent writes.
type order struct {
	Every time.Duration // between two steps of an agent from now on; 0 for none
	Tell  bool          // only say how it is
}

// tally is the answer to each order.
type tally struct {
	Rows  int       // tensors of a step
	Site  uint64    // of the first of them
	Steps []uint64  // that the stream has acknowledged, by agent
	Rest  int       // agents that publish nothing before the next order
	Waits int64     // times that a publisher had to wait for the stream: it refused, or did not answer
	Dead  int64     // messages that no stream took
	Calls []float64 // seconds of each step since the last answer, from the call of Publish until the stream had it
	Late  float64   // seconds that the latest of those steps began after it was due
}

// publisherRole is the argument with which a test binary is a process of publishers.
const publisherRole = "test-load-publishers"

// publishForParent lets a test binary be one. It returns only when that is not asked for.
func publishForParent() {
	if len(os.Args) < 3 || os.Args[1] != publisherRole {
		return
	}
	if err := publish(os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// crowdMember is the publishers of this process.
type crowdMember struct {
	publishing

	recording *recording
	pace      pace
	steps     []atomic.Uint64
	read      []atomic.Uint64 // the change of the pace that each agent has seen last
	waits     atomic.Int64
	metrics   pipelines.Metrics

	mutex sync.Mutex
	calls []float64
	late  float64
}

// publish works until the parent closes its end.
func publish(text string) error {
	c := &crowdMember{pace: pace{current: beat{changed: make(chan struct{})}}}
	if err := json.Unmarshal([]byte(text), &c.publishing); err != nil {
		return err
	}
	c.steps, c.read = make([]atomic.Uint64, c.Agents), make([]atomic.Uint64, c.Agents)
	var err error
	if c.recording, err = readRecording(context.Background(), c.Dump); err != nil {
		return err
	}
	if n := c.Tensors; n > 0 {
		c.recording.tensors = c.recording.tensors[:n]
	}
	ctx, stop := context.WithCancel(context.Background())
	group, publishing := errgroup.WithContext(ctx)
	for i := range c.Agents {
		group.Go(func() error {
			if err := c.agent(publishing, i); err != nil {
				fmt.Fprintf(os.Stderr, "agent %d: %v\n", c.FirstAgent+i, err)
				os.Exit(1) // the parent waits for nobody else then
			}
			return nil
		})
	}
	group.Go(func() error {
		defer stop()
		return c.obey()
	})
	return group.Wait()
}

// obey answers each order.
func (c *crowdMember) obey() error {
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		var o order
		if err := json.Unmarshal(lines.Bytes(), &o); err != nil {
			return err
		}
		if !o.Tell {
			c.pace.change(o.Every)
		}
		text, err := json.Marshal(c.tally())
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(os.Stdout, "%s\n", text); err != nil {
			return err
		}
	}
	return nil
}

func (c *crowdMember) tally() tally {
	t := tally{Rows: len(c.recording.tensors), Site: c.recording.tensors[0].SiteID, Waits: c.waits.Load(), Dead: c.metrics.Snapshot().DeadLetters}
	now := c.pace.now()
	for i := range c.steps {
		t.Steps = append(t.Steps, c.steps[i].Load())
		if now.every == 0 && c.read[i].Load() == now.number {
			t.Rest++
		}
	}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	t.Calls, t.Late = c.calls, c.late
	c.calls, c.late = nil, 0
	return t
}

// agent publishes the steps of a rank as they are due.
func (c *crowdMember) agent(ctx context.Context, i int) error {
	conn, err := nats.Connect(c.NATS, nats.MaxReconnects(-1), nats.ReconnectWait(20*time.Millisecond), nats.Timeout(time.Minute))
	if err != nil {
		return err
	}
	defer conn.Close()
	js, err := jetstream.New(conn)
	if err != nil {
		return err
	}
	cfg := pipelines.DefaultConfig().Publish
	cfg.SpillDir, cfg.AckTimeout, cfg.Metrics = c.Spill, time.Minute, &c.metrics // a machine that is busy is no stream that is away
	p, err := pipelines.NewPublisher(cfg, js, time.Now, func(s pipelines.State) {
		if s.Waiting != nil {
			c.waits.Add(1)
		}
	})
	if err != nil {
		return err
	}
	id := c.Of.identity(c.FirstAgent + i)
	model, err := c.recording.model(id, c.Of.runOf(c.FirstAgent+i), c.Of.ranks())
	if err == nil {
		err = publishStep(ctx, p, model...)
	}
	if err != nil {
		return ended(ctx, err)
	}
	b := schemas.NewBuilder[schemas.TensorRow]()
	offset := float64(c.FirstAgent+i) / float64(c.Of.Agents)
	return ended(ctx, c.pace.each(ctx, offset, &c.read[i], func(due time.Time) error {
		tensors, step, err := c.recording.messages(b, id, due)
		if err != nil {
			return err
		}
		late, begin := time.Since(due), time.Now()
		if err := publishStep(ctx, p, tensors, step); err != nil {
			return err
		}
		c.took(time.Since(begin), late)
		c.steps[i].Add(1)
		id.Batch++
		return nil
	}))
}

// publishStep returns once the stream has the step, as an agent does before the next.
func publishStep(ctx context.Context, p *pipelines.Publisher, messages ...schemas.Message) error {
	for _, m := range messages {
		if err := p.Publish(ctx, m); err != nil {
			return err
		}
	}
	return p.Flush(ctx)
}

// ended is no error where the parent has ended the work.
func ended(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil //nolint:nilerr // it was told to
	}
	return err
}

func (c *crowdMember) took(call, late time.Duration) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.calls = append(c.calls, call.Seconds())
	c.late = max(c.late, late.Seconds())
}

// pace is how often each agent publishes a step.
type pace struct {
	mutex   sync.Mutex
	current beat
}

// beat is a pace until it changes.
type beat struct {
	number  uint64
	every   time.Duration // 0: nobody publishes
	from    time.Time
	changed chan struct{} // closed by the next change
}

func (p *pace) change(every time.Duration) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	close(p.current.changed)
	p.current = beat{p.current.number + 1, every, time.Now(), make(chan struct{})}
}

func (p *pace) now() beat {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return p.current
}

// each calls do at each moment that is due, late ones too, until ctx ends. The offset is a share of the time between two,
// so that not all agents are due at once. A change forgets what was due before; read has the change that was seen last.
func (p *pace) each(ctx context.Context, offset float64, read *atomic.Uint64, do func(due time.Time) error) error {
	for k := 0; ; k++ {
		now := p.now()
		if read.Swap(now.number) != now.number {
			k = 0
		}
		due := now.from.Add(time.Duration((offset + float64(k)) * float64(now.every)))
		var wait <-chan time.Time // for ever
		if now.every > 0 {
			wait = time.After(time.Until(due))
		}
		select {
		case <-ctx.Done():
			return nil
		case <-now.changed:
			continue
		case <-wait:
		}
		if err := do(due); err != nil {
			return err
		}
	}
}
