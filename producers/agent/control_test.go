package agent_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tensortap/tensortap/internal/dev/testbed"
	"github.com/tensortap/tensortap/producers/agent"
	"github.com/tensortap/tensortap/schemas"
)

// serving runs an agent until the test ends.
func serving(tb testing.TB, cfg agent.Config) *agent.Agent {
	tb.Helper()
	ctx, cancel := context.WithCancel(tb.Context())
	a := agent.New(cfg)
	ended := make(chan error, 1)
	go func() { ended <- a.Run(ctx) }()
	tb.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			tb.Error(err)
		}
	})
	return a
}

// asked asks until an answer is as wanted.
func asked(tb testing.TB, a *agent.Agent, r agent.Request, state string) agent.Answer {
	tb.Helper()
	var answers []agent.Answer
	for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(deadline); time.Sleep(2 * time.Millisecond) {
		if answers = a.Ask(&r); len(answers) == 1 && answers[0].State == state {
			return answers[0]
		}
	}
	tb.Fatalf("Ask(%+v) = %+v, want %s", r, answers, state)
	return agent.Answer{}
}

// answer makes the process of the spool answer the request that it got.
func answer(tb testing.TB, s *testbed.Spool, a schemas.SpoolAnswered, text string) {
	tb.Helper()
	a.Length = uint32(len(text))
	s.Answer(&a, text)
}

func TestARequestIsHandedOverOnceAndTheNextWhenThatIsAnswered(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	s := testbed.NewSpool(t, root, testbed.SpoolOptions{Run: "live", Rank: 3, Epoch: 7})
	cfg := config(t, root, newLog(t))
	cfg.Payloads = "/kept"
	a := serving(t, cfg)
	first := agent.Request{RunID: schemas.RunID("live"), Sequence: 11, Do: agent.DoCapture, Level: "mix", Steps: 2, Scope: []string{"layers.3.*"}, When: "loss>10", MostBytes: 5}
	second := agent.Request{RunID: first.RunID, Sequence: 12, Do: agent.DoStop}
	if got := asked(t, a, first, agent.StatePending); got.Rank != 3 || got.Host != "here" {
		t.Errorf("answer %+v", got)
	}
	request, text := s.Asked()
	var seen map[string]any
	if err := json.Unmarshal([]byte(text), &seen); err != nil || request.Sequence != 11 || seen["folder"] != "/kept" || seen["do"] != "capture" || seen["when"] != "loss>10" {
		t.Errorf("the process is asked %+v, %s, %v", request, text, err)
	}
	asked(t, a, second, agent.StateBusy)
	answer(t, s, schemas.SpoolAnswered{Sequence: 11, Outcome: schemas.SpoolRecording, Step: 40}, "")
	if got := asked(t, a, first, agent.StateRecording); got.FromStep != 40 || got.Payloads != "/kept" {
		t.Errorf("answer %+v", got)
	}
	asked(t, a, second, agent.StatePending)
	answer(t, s, schemas.SpoolAnswered{Sequence: 12, Outcome: schemas.SpoolRefused, Step: 41}, "for no reason")
	if got := asked(t, a, second, agent.StateRefused); got.Reason != "for no reason" || got.FromStep != 41 {
		t.Errorf("answer %+v", got)
	}
	if got := asked(t, a, first, agent.StateRecording); got.FromStep != 40 {
		t.Errorf("the first request is answered anew: %+v", got)
	}
	if request, _ := s.Asked(); request.Sequence != 12 {
		t.Errorf("the process is asked %+v again", request)
	}
}

func TestOnlyTheRunAndTheRanksThatAreMeantAreAsked(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	s := testbed.NewSpool(t, root, testbed.SpoolOptions{Run: "live", Rank: 3, Epoch: 7})
	a := serving(t, config(t, root, newLog(t)))
	asked(t, a, agent.Request{RunID: schemas.RunID("live"), Ranks: []int64{3}, Sequence: 1, Do: agent.DoStop}, agent.StatePending)
	for _, r := range []agent.Request{
		{RunID: schemas.RunID("another"), Sequence: 2, Do: agent.DoStop},
		{RunID: schemas.RunID("live"), Ranks: []int64{0, 4, -3}, Sequence: 3, Do: agent.DoStop},
	} {
		if got := a.Ask(&r); len(got) != 0 {
			t.Errorf("Ask(%+v) = %+v", r, got)
		}
	}
	if request, _ := s.Asked(); request.Sequence != 1 {
		t.Errorf("the process is asked %+v", request)
	}
}

func TestAPokeNamesTheOpUnderWay(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	s := testbed.NewSpool(t, root, testbed.SpoolOptions{Run: "live", Epoch: 7})
	a := serving(t, config(t, root, newLog(t)))
	poke := agent.Request{RunID: schemas.RunID("live"), Sequence: 1, Do: agent.DoPoke}
	if got := asked(t, a, poke, agent.StateUntold); got.Op != "" {
		t.Errorf("before the first op it is in %q", got.Op)
	}
	for _, name := range []string{"Module.a.A.forward.0", "Module.b.B.forward.0", "Module.a.A.forward.0"} {
		s.Head.CurrentOp = s.Op(name)
		s.WriteHead()
		for range 2 {
			if got := a.Ask(&poke); len(got) != 1 || got[0].Op != name {
				t.Errorf("in op %q: %+v", name, got)
			}
		}
	}
}

func TestAPokeSaysThatAPersonHoldsTheProcessUp(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	s := testbed.NewSpool(t, root, testbed.SpoolOptions{Run: "live", Epoch: 7})
	a := serving(t, config(t, root, newLog(t)))
	poke := agent.Request{RunID: schemas.RunID("live"), Sequence: 1, Do: agent.DoPoke}
	for kind, want := range []string{"", agent.HeldWaiting, agent.HeldAttached, agent.HeldAtPrompt, agent.HeldSomehow} {
		s.Head.Debugged, s.Head.DebuggedSinceNs = uint32(kind), 17 //nolint:gosec // few
		s.WriteHead()
		if got := asked(t, a, poke, agent.StateUntold); got.Held != want || (got.HeldSinceNs == 17) != (want != "") {
			t.Errorf("of kind %d: %q since %d, want %q", kind, got.Held, got.HeldSinceNs, want)
		}
	}
}

func TestAHeaderThatIsCutShortEndsNoAgent(t *testing.T) {
	t.Parallel()
	root, l := t.TempDir(), newLog(t)
	s := testbed.NewSpool(t, root, testbed.SpoolOptions{Run: "live", Epoch: 7})
	cfg := config(t, root, l)
	cfg.PollEvery = time.Hour // so that who looks and asks comes first
	a := serving(t, cfg)
	r := agent.Request{RunID: schemas.RunID("live"), Sequence: 1, Do: agent.DoStop}
	asked(t, a, r, agent.StatePending)
	if err := os.Truncate(filepath.Join(s.Dir, "header"), 0); err != nil {
		t.Fatal(err)
	}
	if answers := a.Ask(&r); len(answers) != 0 {
		t.Errorf("Ask() = %+v of a page that is gone", answers)
	}
	time.Sleep(3 * cfg.ScanEvery) // it is looked at meanwhile
}

func TestARequestThatDoesNotFitIsRefused(t *testing.T) {
	t.Parallel()
	long := agent.Request{RunID: 1, Sequence: 1, Do: agent.DoCapture, Scope: []string{strings.Repeat("x", schemas.SpoolControlBytes)}}
	if err := long.Check(); err == nil || !strings.Contains(err.Error(), "limit 1776: give fewer or shorter patterns") {
		t.Errorf("Check() = %v", err)
	}
	root := t.TempDir()
	s := testbed.NewSpool(t, root, testbed.SpoolOptions{Run: "live", Epoch: 7})
	long.RunID = schemas.RunID("live")
	asked(t, serving(t, config(t, root, newLog(t))), long, agent.StateRefused)
	if request, _ := s.Asked(); request.Sequence != 0 {
		t.Errorf("the process is asked %+v", request)
	}
}

func TestTheCollectorReadsWhatTheAgentAsksAndTheAgentWhatItAnswers(t *testing.T) {
	t.Parallel()
	python, err := exec.LookPath("python3")
	if err != nil {
		testbed.Needed(t, "no python3")
	}
	root, run := t.TempDir(), "asked in Go ☃"
	cmd := exec.CommandContext(t.Context(), python, "testdata/answer_request.py", root, run)
	cmd.Env = append(cmd.Environ(), "PYTHONPATH=../torch/src", "PYTHONDONTWRITEBYTECODE=")
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	end, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	a := serving(t, config(t, root, newLog(t)))
	poke := asked(t, a, agent.Request{RunID: schemas.RunID(run), Sequence: 1 << 31, Do: agent.DoPoke}, agent.StateSeen)
	capture := agent.Request{RunID: schemas.RunID(run), Sequence: 1<<32 - 1, Do: agent.DoCapture, Level: "mix", Steps: 2, Scope: []string{"a.☃*"}, Texts: []string{"Why, <s>☃"}, MostBytes: 9}
	got := asked(t, a, capture, agent.StateRefused)
	_ = end.Close()
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v: %s", err, &said)
	}
	if got.FromStep != 5 || !strings.HasPrefix(got.Reason, strings.Repeat("✗", 74)) || len(got.Reason) > schemas.SpoolAnswerBytes+3 {
		t.Errorf("answer %+v", got)
	}
	for _, want := range []string{`"scope":["a.☃*"]`, `"texts":["Why, \u003cs\u003e☃"]`, `"most_bytes":9`} {
		if !strings.Contains(said.String(), want) {
			t.Errorf("the process read %s, want %s", &said, want)
		}
	}
	if poke.Stacks != "" || poke.HeartbeatNs == 0 { // its one thread is the writer
		t.Errorf("poke %+v", poke)
	}
}

func TestPayloadsOfALiveProcessBecomeRows(t *testing.T) {
	t.Parallel()
	root, l := t.TempDir(), newLog(t)
	s := testbed.NewSpool(t, root, testbed.SpoolOptions{Run: "kept", Rank: 1, Epoch: 9})
	s.Begin(4)
	const op = "Module.a.Linear.forward.0"
	seq := s.Call(op, "", 0, 0)
	s.Tensor(op, "output", "0", seq, 1)
	const location = "12-0123456789abcdef/4-1-1.safetensors"
	s.Put(schemas.SpoolPayloadKind, &schemas.SpoolPayload{
		Site: s.Site(s.Op(op), "output", "0"), Seq: seq, Location: s.Text(location), SizeBytes: 88, Digest: 7, DigestKind: 1, TimeNs: s.Clock,
	})
	s.Put(schemas.SpoolPayloadKind, &schemas.SpoolPayload{Site: 99, Seq: seq, Location: 99})
	s.End(4, 0)
	s.Close()
	serveUntil(t, config(t, root, l), empty(t, root))
	kept, tensors := rows[schemas.PayloadRow](l), rows[schemas.TensorRow](l)
	if len(kept) != 1 || len(tensors) != 1 {
		t.Fatalf("%d payloads of %d tensors: %+v", len(kept), len(tensors), kept)
	}
	if p := kept[0]; p.SiteID != tensors[0].SiteID || p.Step != 4 || p.Location != location || *p.SizeBytes != 88 || p.Digest != 7 || p.DigestKind != 1 || !agent.IsPayload(p.Location) {
		t.Errorf("payload %+v of tensor %+v", p, tensors[0])
	}
	if steps := rows[schemas.StepRow](l); steps[0].DroppedCount != 1 {
		t.Errorf("what is not defined is not counted: %+v", steps)
	}
}

func TestALocationThatLeadsElsewhereIsNoPayload(t *testing.T) {
	t.Parallel()
	for _, location := range []string{
		"", "/etc/passwd", "../1-0123456789abcdef/1-1-1.safetensors", "1-0123456789abcdef/../../x.safetensors",
		"1-0123456789abcdef/1-1-1.safetensors\n", "1-0123456789abcdef/1-1-1.py", "1-0123456789abcdef/1-1-1xpt", "1-0123456789ABCDEF/1-1-1.safetensors",
	} {
		if agent.IsPayload(location) {
			t.Errorf("IsPayload(%q)", location)
		}
	}
}
