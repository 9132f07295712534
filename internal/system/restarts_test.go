package system

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tensortap/tensortap/internal/dev/testbed"
	"github.com/tensortap/tensortap/pipelines"
	"github.com/tensortap/tensortap/producers/agent"
	"github.com/tensortap/tensortap/schemas"
)

// host is an agent on a root of spools, whose starts are admitted by a real server. What it publishes is kept here.
type host struct {
	testing.TB

	root  string
	agent *agent.Agent

	mutex    sync.Mutex
	messages []schemas.Message
}

func newHost(t *testing.T) *host {
	t.Helper()
	h := &host{TB: t, root: t.TempDir()}
	client := connected(t, schemas.MaxMessageBytes+64<<10)
	cfg := pipelines.DefaultConfig()
	cfg.Stream.MaxBytes, cfg.Stream.DeadMaxBytes, cfg.Publish.SpillDir = 64<<20, 16<<20, t.TempDir()
	if err := pipelines.Prepare(t.Context(), client.stream, cfg); err != nil {
		t.Fatal(err)
	}
	serving := agent.DefaultConfig(h.root, time.Now)
	serving.ScanEvery, serving.PollEvery, serving.BatchAge = 20*time.Millisecond, 2*time.Millisecond, 5*time.Millisecond
	serving.DeadAfter, serving.RetryAfter = 100*time.Millisecond, 20*time.Millisecond
	serving.Tell = func(text string) { t.Log("agent:", text) }
	serving.Stream = client.agentStream(nil, client.newHearing(serving.Tell))
	serving.Stream.NewPublisher = func() (agent.Publisher, error) { return h, nil }
	h.agent = agent.New(serving)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- h.agent.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return h
}

func (h *host) Publish(_ context.Context, m schemas.Message) error {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	h.messages = append(h.messages, m)
	return nil
}

func (*host) Flush(context.Context) error { return nil }

func (*host) Close() {}

func (h *host) await(what string, done func() bool) {
	h.Helper()
	for deadline := time.Now().Add(time.Minute); !done(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			h.Fatalf("not within a minute: %s", what)
		}
	}
}

func (h *host) awaitGone(s *testbed.Spool) {
	h.Helper()
	h.await("all of a process is published", func() bool {
		_, err := os.Stat(s.Dir)
		return os.IsNotExist(err)
	})
}

// rowsOn are the rows of a kind, each as text.
func rowsOn[R any, P schemas.Row[R]](h *host, text func(R) string) (all []string) {
	h.Helper()
	h.mutex.Lock()
	defer h.mutex.Unlock()
	for _, m := range h.messages {
		if m.Header.Kind != P(new(R)).Table().Kind() {
			continue
		}
		rows, err := schemas.AppendRows[R, P](nil, m)
		if err != nil {
			h.Fatal(err)
		}
		for _, r := range rows {
			all = append(all, text(r))
		}
	}
	return all
}

func stepsOn(h *host) []string {
	return rowsOn(h, func(r schemas.StepRow) string {
		return fmt.Sprintf("epoch %d generation %d step %d complete %d", r.Epoch, r.Generation, r.Step, r.Complete)
	})
}

// TestAServerThatIsRestartedGoesOnBehindItsSteps has one end, one that resumes it die in a step, and one come after that. A training
// that is resumed names its steps itself.
func TestAServerThatIsRestartedGoesOnBehindItsSteps(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	served := func(epoch uint64) *testbed.Spool {
		return testbed.NewSpool(t, h.root, testbed.SpoolOptions{Run: "served", Epoch: epoch, Fields: map[string]any{"appends": true, "resume": true}})
	}
	first := served(1)
	for step := range uint32(3) {
		first.Step(step, 1)
	}
	first.Close()
	h.awaitGone(first)
	run := schemas.RunID("served")
	h.await("the first is let go, and answers no more", func() bool {
		return len(h.agent.Ask(&agent.Request{RunID: run, Do: agent.DoPoke, Sequence: 3})) == 0
	})

	second := served(2)
	second.Step(0, 1)
	second.Begin(1)
	second.Forward(1, 1)
	second.Put(schemas.SpoolSequenceKind, &schemas.SpoolSequence{PromptHash: 7, TimeNs: 5, Number: 1, Step: 1})
	second.Put(schemas.SpoolTokensKind, &schemas.SpoolTokens{Sequence: 1, TokenCount: 1, Token0: 11})
	second.Head.Step = 1
	second.WriteHead()
	ask := func(do string, sequence uint32) (answers []agent.Answer) {
		h.await("the process is asked to "+do, func() bool {
			answers = h.agent.Ask(&agent.Request{RunID: run, Do: do, Sequence: sequence, Level: "mix", Steps: 1})
			return len(answers) == 1
		})
		return answers
	}
	if poked := ask(agent.DoPoke, 5); poked[0].Step != 4 {
		t.Errorf("a poke says step %d, want 4", poked[0].Step)
	}
	ask(agent.DoCapture, 7)
	second.Answer(&schemas.SpoolAnswered{Sequence: 7, Outcome: schemas.SpoolRecording, Step: 2}, "")
	if recording := ask(agent.DoCapture, 7); recording[0].FromStep != 5 {
		t.Errorf("a capture says step %d, want 5", recording[0].FromStep)
	}
	second.Die()
	h.awaitGone(second)

	third := served(3)
	third.Step(0, 1)
	third.Close()
	h.awaitGone(third)
	want := []string{
		"epoch 1 generation 0 step 0 complete 1", "epoch 1 generation 0 step 1 complete 1", "epoch 1 generation 0 step 2 complete 1",
		"epoch 2 generation 1 step 3 complete 1", "epoch 2 generation 1 step 4 complete 0", "epoch 3 generation 2 step 5 complete 1",
	}
	if got := stepsOn(h); !slices.Equal(got, want) {
		t.Errorf("got steps\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	tensors := rowsOn(h, func(r schemas.TensorRow) string { return fmt.Sprintf("epoch %d step %d", r.Epoch, r.Step) })
	if slices.Contains(tensors, "epoch 2 step 0") || !slices.Contains(tensors, "epoch 2 step 4") {
		t.Errorf("tensors of %v", slices.Compact(tensors))
	}
	tokens := rowsOn(h, func(r schemas.TokenRow) string {
		return fmt.Sprintf("step %d, of the trainer %d", r.Step, r.GlobalStep)
	})
	if !slices.Equal(tokens, []string{"step 4, of the trainer 4"}) {
		t.Errorf("tokens %v, want one of step 4, by which runs pair where no trainer says another", tokens)
	}
	last := rowsOn(h, func(r schemas.HeartbeatRow) string {
		return fmt.Sprintf("epoch %d %s step %d", r.Epoch, r.State, r.Step)
	})
	if !slices.Contains(last, "epoch 2 died step 4") {
		t.Errorf("signs of life %v, want a death in step 4", last)
	}
}

func TestATrainingThatIsResumedNamesItsSteps(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	for epoch := range uint64(2) {
		s := testbed.NewSpool(t, h.root, testbed.SpoolOptions{Run: "trained", Epoch: epoch + 1, Fields: map[string]any{"resume": true}})
		s.Step(7, 1)
		s.Close()
		h.awaitGone(s)
	}
	want := []string{"epoch 1 generation 0 step 7 complete 1", "epoch 2 generation 1 step 7 complete 1"}
	if got := stepsOn(h); !slices.Equal(got, want) {
		t.Errorf("got steps %v, want %v", got, want)
	}
}

// TestTwoProcessesThatLiveAsOneRankAreNeverOne has a second one come while the first lives. It is told so itself, is not admitted once the
// first has ended, and the rows of the first say that some are lacking.
func TestTwoProcessesThatLiveAsOneRankAreNeverOne(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	start := func(epoch uint64) *testbed.Spool {
		return testbed.NewSpool(t, h.root, testbed.SpoolOptions{Run: "twice", Epoch: epoch, Fields: map[string]any{"appends": true, "resume": true}})
	}
	first := start(1)
	first.Step(0, 1)
	h.await("the first is published", func() bool { return len(stepsOn(h)) == 1 })
	second := start(2)
	second.Step(0, 1)
	told := struct {
		Do    string
		Final bool
	}{}
	h.await("the second is told", func() bool {
		_, text := second.Asked()
		return json.Unmarshal([]byte(text), &told) == nil && told.Final
	})
	if told.Do != "tell" {
		t.Errorf("the second is asked to %q, want tell", told.Do)
	}
	lacking := func() []string {
		return rowsOn(h, func(r schemas.UnseenRow) string {
			return fmt.Sprintf("epoch %d %s %d", r.Epoch, r.Reason, r.UnseenCount)
		})
	}
	h.await("the first is not complete", func() bool { return slices.Equal(lacking(), []string{"epoch 1 dropped 1"}) })
	first.Close()
	h.awaitGone(first)
	third := start(3)
	third.Step(0, 1)
	third.Close()
	h.awaitGone(third)
	want := []string{"epoch 1 generation 0 step 0 complete 1", "epoch 3 generation 2 step 1 complete 1"}
	if got := stepsOn(h); !slices.Equal(got, want) {
		t.Errorf("got steps %v, want %v", got, want)
	}
	if _, err := os.Stat(second.Dir); err != nil {
		t.Errorf("the spool of the one that was refused: %v", err)
	}
}
