package system

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/tensortap/tensortap/internal/dev/testbed"
	"github.com/tensortap/tensortap/pipelines"
	"github.com/tensortap/tensortap/producers/agent"
	"github.com/tensortap/tensortap/schemas"
)

// nowhere is a stream that takes everything.
type nowhere struct{}

func (nowhere) Publish(context.Context, schemas.Message) error { return nil }
func (nowhere) Flush(context.Context) error                    { return nil }

func (nowhere) Close() {}

// connected is a client of a server whose messages are not larger than that.
func connected(tb testing.TB, mostBytes int32) *Client {
	tb.Helper()
	own, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, JetStream: true, StoreDir: tb.TempDir(), MaxPayload: mostBytes, NoSigs: true, NoLog: true})
	if err != nil {
		tb.Fatal(err)
	}
	own.Start()
	tb.Cleanup(own.Shutdown)
	if !own.ReadyForConnections(10 * time.Second) {
		tb.Fatal("the server is not ready")
	}
	connection, err := nats.Connect(own.ClientURL(), nats.Timeout(time.Minute))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(connection.Close)
	stream, err := jetstream.New(connection, jetstream.WithDefaultTimeout(time.Minute))
	if err != nil {
		tb.Fatal(err)
	}
	return &Client{stream: stream, now: time.Now}
}

// servingAll runs an agent until the test ends.
func servingAll(tb testing.TB, root string) *agent.Agent {
	tb.Helper()
	cfg := agent.DefaultConfig(root, time.Now)
	cfg.ScanEvery = 20 * time.Millisecond
	cfg.Stream = agent.Stream{
		NewPublisher: func() (agent.Publisher, error) { return nowhere{}, nil },
		Admit:        func(_ context.Context, s agent.Start) (agent.Place, error) { return agent.Place{Rank: s.Rank}, nil },
		Finish:       func(context.Context, agent.Start, bool, uint32) error { return nil },
	}
	serving, ended := agent.New(cfg), make(chan error, 1)
	ctx, cancel := context.WithCancel(tb.Context())
	go func() { ended <- serving.Run(ctx) }()
	tb.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			tb.Error(err)
		}
	})
	return serving
}

func TestRanksAnswerHoweverLongTheirStacksAreTogether(t *testing.T) {
	t.Parallel()
	const ranks, stacksBytes, sequence = 6, 60 << 10, 17
	root := t.TempDir()
	q := question{
		request: &agent.Request{RunID: schemas.RunID("deep"), Sequence: sequence, Do: agent.DoPoke},
		answers: map[uint32]agent.Answer{},
	}
	for rank := range uint32(ranks) {
		s := testbed.NewSpool(t, root, testbed.SpoolOptions{Run: "deep", Rank: rank, Epoch: uint64(rank) + 1})
		s.Answer(&schemas.SpoolAnswered{Poked: sequence}, "")
		if err := os.WriteFile(filepath.Join(s.Dir, "stacks"), []byte(strings.Repeat("x", stacksBytes)), 0o600); err != nil {
			t.Fatal(err)
		}
		q.living = append(q.living, rank)
	}
	client := connected(t, 2*stacksBytes)
	heard := client.newHearing(func(string) {})
	heard.serving = servingAll(t, root)
	if err := heard.hear(agent.Start{RunID: schemas.RunID("deep")}); err != nil {
		t.Fatal(err)
	}
	defer heard.end()
	asked, err := q.ask(t.Context(), client.stream.Conn(), 5*time.Second)
	if err != nil || asked.Open() != 0 || len(asked.Answers) != ranks {
		t.Fatalf("%d answers, %d open, %v", len(asked.Answers), asked.Open(), err)
	}
	for _, answer := range asked.Answers {
		if len(answer.Stacks) != stacksBytes {
			t.Errorf("rank %d: %d bytes of stacks, want %d", answer.Rank, len(answer.Stacks), stacksBytes)
		}
	}
}

func TestEveryRankThatIsAskedMustLive(t *testing.T) {
	t.Parallel()
	states := map[uint32]string{0: pipelines.StartLives, 1: "ended", 4: pipelines.StartLives}
	for _, c := range []struct {
		asked []int64
		want  string
	}{
		{nil, "[0 4] <nil>"},
		{[]int64{4}, "[4] <nil>"},
		{[]int64{0, 7}, "[] it has no rank 7; its ranks are [0 1 4]"},
		{[]int64{-1}, "[] it has no rank -1; its ranks are [0 1 4]"},
		{[]int64{0, 1}, "[] rank 1 has ended or died; those that live are [0 4]"},
	} {
		living, err := livingOf(states, c.asked)
		if got := fmt.Sprint(living, " ", err); got != c.want {
			t.Errorf("asked %v: %s, want %s", c.asked, got, c.want)
		}
	}
}
