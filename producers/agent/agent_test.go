package agent_test

import (
	"context"
	"maps"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/tensortap/tensortap/internal/dev/testbed"
	"github.com/tensortap/tensortap/producers/agent"
	"github.com/tensortap/tensortap/schemas"
)

// log is a stream in memory that keeps the first message of each id, as JetStream does, and holds every repetition
// against it.
type log struct {
	tb testing.TB

	mutex    sync.Mutex
	order    []schemas.Message
	messages map[string]schemas.Message
	repeated int
	starts   map[agent.Start]string // how it ended
	before   func(schemas.Message) error
}

func newLog(tb testing.TB) *log {
	tb.Helper()
	return &log{tb: tb, messages: map[string]schemas.Message{}, starts: map[agent.Start]string{}}
}

func (l *log) Publish(_ context.Context, m schemas.Message) error {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.before != nil {
		if err := l.before(m); err != nil {
			return err
		}
	}
	if first, ok := l.messages[m.ID()]; ok {
		l.repeated++
		if string(first.Data) != string(m.Data) {
			l.tb.Errorf("message %s came again with other content", m.ID())
		}
		return nil
	}
	l.messages[m.ID()] = m
	l.order = append(l.order, m)
	return nil
}

func (*log) Flush(context.Context) error { return nil }

func (*log) Close() {}

func (l *log) stream() agent.Stream {
	return agent.Stream{
		NewPublisher: func() (agent.Publisher, error) { return l, nil },
		Admit: func(_ context.Context, s agent.Start) (agent.Place, error) {
			return agent.Place{Rank: s.Rank, Generation: 3}, nil
		},
		Refuse: func(context.Context, agent.Start) error { return nil },
		Finish: func(_ context.Context, s agent.Start, ended bool, _ uint32) error {
			l.mutex.Lock()
			defer l.mutex.Unlock()
			l.starts[s] = map[bool]string{true: "ended", false: "died"}[ended]
			return nil
		},
	}
}

// rows are all rows of a kind in the order of their messages.
func rows[R any, P schemas.Row[R]](l *log) []R {
	l.tb.Helper()
	l.mutex.Lock()
	defer l.mutex.Unlock()
	var all []R
	for _, m := range l.order {
		all = append(all, rowsOf[R, P](l.tb, m)...)
	}
	return all
}

// rowsOf are the rows of a message of that kind, none of another.
func rowsOf[R any, P schemas.Row[R]](tb testing.TB, m schemas.Message) []R {
	tb.Helper()
	if m.Header.Kind != P(new(R)).Table().Kind() {
		return nil
	}
	all, err := schemas.AppendRows[R, P](nil, m)
	if err != nil {
		tb.Fatal(err)
	}
	return all
}

func config(tb testing.TB, root string, l *log) agent.Config {
	tb.Helper()
	cfg := agent.DefaultConfig(root, time.Now)
	cfg.Stream = l.stream()
	cfg.ScanEvery, cfg.PollEvery, cfg.BatchAge = 20*time.Millisecond, 2*time.Millisecond, 5*time.Millisecond
	cfg.DeadAfter, cfg.RetryAfter = 100*time.Millisecond, 20*time.Millisecond
	cfg.Tell = func(text string) { tb.Log("agent:", text) }
	return cfg
}

// serveUntil runs an agent until the condition holds.
func serveUntil(tb testing.TB, cfg agent.Config, done func() bool) {
	tb.Helper()
	runUntil(tb, agent.New(cfg), done)
}

func runUntil(tb testing.TB, a *agent.Agent, done func() bool) {
	tb.Helper()
	ctx, cancel := context.WithCancel(tb.Context())
	ended := make(chan error, 1)
	go func() { ended <- a.Run(ctx) }()
	deadline := time.Now().Add(2 * time.Minute)
	for !done() {
		if time.Now().After(deadline) {
			tb.Error("the agent is not done within two minutes")
			break
		}
		time.Sleep(2 * time.Millisecond)
	}
	cancel()
	if err := <-ended; err != nil {
		tb.Error(err)
	}
}

// empty says whether every process of the root is published and gone.
func empty(tb testing.TB, root string) func() bool {
	tb.Helper()
	return func() bool {
		entries, err := os.ReadDir(root)
		if err != nil {
			tb.Fatal(err)
		}
		return len(entries) == 0
	}
}

func TestAWholeProcessBecomesRows(t *testing.T) {
	t.Parallel()
	root, l := t.TempDir(), newLog(t)
	s := testbed.NewSpool(t, root, testbed.SpoolOptions{Run: "bad", Rank: 2, Epoch: 7})
	s.Step(0, 3)
	s.Step(1, 3)
	s.Close()
	serveUntil(t, config(t, root, l), empty(t, root))

	run, rank := rows[schemas.RunRow](l), rows[schemas.RankRow](l)
	if len(run) != 1 || run[0].Name != "bad" || run[0].Source != "collector" || len(rank) != 1 || rank[0].Rank != 2 || rank[0].TP != -1 {
		t.Errorf("described as %+v, %+v", run, rank)
	}
	steps := rows[schemas.StepRow](l)
	if len(steps) != 2 {
		t.Fatalf("%d steps, want 2: %+v", len(steps), steps)
	}
	for i, s := range steps {
		if s.Step != uint32(i) || s.OpCount != 4 || s.TensorCount != 6 || s.Complete != 1 || s.Phase != "train" || s.Generation != 3 || s.DroppedCount != 0 {
			t.Errorf("step %d: %+v", i, s)
		}
	}
	names := map[uint64]string{}
	for _, op := range rows[schemas.OpRow](l) {
		names[op.OpID] = op.Name
	}
	var program []string
	for _, p := range rows[schemas.ProgramRow](l) {
		program = append(program, names[p.OpID])
	}
	want := []string{"Module.layers.0.Linear.forward.0", "Module.layers.1.Linear.forward.0", "Module.layers.2.Linear.forward.0", "Module.model.Model.forward.0"}
	if !slices.Equal(program, want) {
		t.Errorf("program %q, want %q", program, want)
	}
	if tensors := rows[schemas.TensorRow](l); len(tensors) != 12 || tensors[0].ValueMax != 1 || tensors[0].ElementCount != 4 || tensors[0].ValueL2 != 1.4142135623730951 {
		t.Errorf("%d tensors, the first %+v", len(tensors), tensors[0])
	}
	if how := slices.Collect(maps.Values(l.starts)); !slices.Equal(how, []string{"ended"}) {
		t.Errorf("ended as %q", how)
	}
}
