package credentials_test

import (
	"context"
	"errors"
	"maps"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"
	"golang.org/x/sync/errgroup"

	"github.com/tensortap/tensortap/internal/system"
	"github.com/tensortap/tensortap/pipelines"
	"github.com/tensortap/tensortap/producers/agent"
	"github.com/tensortap/tensortap/schemas"
)

// steps is a message of one row.
func step(tb testing.TB, run string) schemas.Message {
	tb.Helper()
	id := schemas.Identity{RunID: schemas.RunID(run), Rank: 0, Epoch: 7}
	b := schemas.NewBuilder[schemas.StepRow]()
	b.Append(&schemas.StepRow{RunID: id.RunID, Epoch: id.Epoch, EventTimeNs: 1})
	m, err := b.Message(id)
	must(tb, err)
	return m
}

// sink takes messages until it has one of each run.
type sink struct {
	mutex sync.Mutex
	runs  map[uint64]bool
}

func (s *sink) Write(_ context.Context, messages []schemas.Message) error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for _, m := range messages {
		s.runs[m.Header.Identity.RunID] = true
	}
	return nil
}

func (s *sink) has(run string) bool {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.runs[schemas.RunID(run)]
}

func config(tb testing.TB) pipelines.Config {
	tb.Helper()
	cfg := pipelines.DefaultConfig()
	cfg.Stream.MaxBytes, cfg.Stream.DeadMaxBytes, cfg.Publish.SpillDir = 1<<30, 64<<20, tb.TempDir()
	return cfg
}

func eventually(tb testing.TB, what string, holds func() bool) {
	tb.Helper()
	for end := time.Now().Add(time.Minute); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			tb.Fatalf("not within a minute: %s", what)
		}
	}
}

// TestEachRoleDoesItsWork has each role do with its own rights what it is there for.
func TestEachRoleDoesItsWork(t *testing.T) {
	t.Parallel()
	f, cfg := startFleet(t), config(t)
	people := map[string]*person{}
	for _, role := range everybody() {
		people[role] = f.as(t, role)
	}
	must(t, pipelines.Prepare(t.Context(), people["consume"].js, cfg))
	must(t, pipelines.Prepare(t.Context(), people["consume"].js, cfg))
	store := deliver(t, people["consume"], cfg)
	for role, run := range map[string]string{"producer": ownRun, "agent": "any"} {
		produce(t, people[role], cfg, run)
		eventually(t, "run "+run+" is stored", func() bool { return store.has(run) })
	}
	must(t, pipelines.Replay(t.Context(), people["consume"].js, cfg, "parquet"))
	for _, role := range []string{"consume", "judge", "alert", "serve", "reader", "operator"} {
		must(t, pipelines.WaitStored(t.Context(), people[role].js, 0, time.Millisecond, "clickhouse"))
	}
	for _, role := range []string{"serve", "operator"} { // which tell of what is new
		if last, err := pipelines.LastOfRun(t.Context(), people[role].js, schemas.RunID(ownRun)); last == 0 || err != nil {
			t.Errorf("%s finds the last message of the run at %d, %v", role, last, err)
		}
	}
	for _, role := range []string{"consume", "judge", "serve", "reader", "operator"} { // which compare
		if finished, err := pipelines.Finished(t.Context(), people[role].js, "*"); len(finished) != 2 || err != nil {
			t.Errorf("%s finds %v finished, want 2; %v", role, finished, err)
		}
	}
	for _, role := range []string{"consume", "judge", "alert"} {
		shareWork(t, people[role], role)
	}
	consumerLooksAtSources(t, people["consume"])
	keepAlerts(t, people["alert"], people["operator"])
	removeRun(t, people["operator"], people["consume"], f.as(t, "reader"))
	for role, p := range people {
		if len(p.refused) > 0 {
			t.Errorf("%s was refused what it needs: %q", role, p.refused)
		}
	}
}

func deliver(tb testing.TB, p *person, cfg pipelines.Config) *sink {
	tb.Helper()
	store := &sink{runs: map[uint64]bool{}}
	delivery, err := pipelines.New(cfg, p.js, "clickhouse", store, zerolog.Nop(), time.Now)
	must(tb, err)
	ctx, cancel := context.WithCancel(context.Background())
	var group errgroup.Group
	group.Go(func() error { return delivery.Run(ctx) })
	tb.Cleanup(func() {
		cancel()
		if err := group.Wait(); err != nil {
			tb.Error(err)
		}
	})
	return store
}

// produce publishes a live rank of the run, and a step of another from files.
func produce(tb testing.TB, p *person, cfg pipelines.Config, run string) {
	tb.Helper()
	id := schemas.RunID(run)
	start := pipelines.StartRequest{RunID: id, Rank: 0, Epoch: 7}
	_, err := pipelines.Admit(tb.Context(), p.js, start)
	must(tb, err)
	publisher, err := pipelines.NewPublisher(cfg.Publish, p.js, time.Now, nil)
	must(tb, err)
	defer publisher.Close()
	must(tb, publisher.PublishTogether(tb.Context(), step(tb, run)))
	must(tb, publisher.Flush(tb.Context()))
	must(tb, pipelines.FinishStart(tb.Context(), p.js, start, true, 0))
	claims, err := pipelines.OpenClaims(tb.Context(), p.js)
	must(tb, err)
	for _, beside := range []bool{false, true} {
		claim, err := claims.Make(tb.Context(), pipelines.ClaimRequest{RunID: id, Rank: 1, Content: 5, Beside: beside})
		must(tb, err)
		must(tb, claims.Finish(tb.Context(), claim))
	}
	if n, err := pipelines.RanksStarted(tb.Context(), p.js, id); n != 1 || err != nil {
		tb.Errorf("run %s has %d live ranks, want 1; %v", run, n, err)
	}
	if n, err := pipelines.RanksOfFiles(tb.Context(), p.js, id); n != 1 || err != nil {
		tb.Errorf("run %s has %d ranks of files, want 1; %v", run, n, err)
	}
}

func shareWork(tb testing.TB, p *person, work string) {
	tb.Helper()
	leases, err := pipelines.OpenLeases(tb.Context(), p.js, work)
	must(tb, err)
	for range 2 { // taken, and renewed
		if mine, err := leases.Take(tb.Context(), work); !mine || err != nil {
			tb.Errorf("%s does not get its work: %v", work, err)
		}
	}
	leases.LetGo(tb.Context())
}

// keepAlerts has the role of alerts read the silences that operators set.
func keepAlerts(tb testing.TB, alert, operator *person) {
	tb.Helper()
	bucket, err := operator.js.CreateKeyValue(tb.Context(), jetstream.KeyValueConfig{Bucket: "tap_alerts", Storage: jetstream.FileStorage})
	must(tb, err)
	_, err = bucket.Create(tb.Context(), "silence.1", nil)
	must(tb, err)
	for _, p := range []*person{alert, operator} {
		own, err := p.js.KeyValue(tb.Context(), "tap_alerts")
		must(tb, err)
		lister, err := own.ListKeysFiltered(tb.Context(), "silence.*")
		must(tb, err)
		for key := range lister.Keys() {
			_, err := own.Get(tb.Context(), key)
			must(tb, err)
		}
	}
	must(tb, bucket.Delete(tb.Context(), "silence.1"))
	stream, err := alert.js.Stream(tb.Context(), pipelines.StreamName)
	must(tb, err)
	_, err = stream.GetLastMsgForSubject(tb.Context(), "tap.step.>")
	must(tb, err)
}

// removeRun has an operator decide that a run goes, and who stores the stream remove it.
func removeRun(tb testing.TB, operator, consume, reader *person) {
	tb.Helper()
	id := schemas.RunID("any")
	decided, err := pipelines.OpenFates(tb.Context(), operator.js)
	must(tb, err)
	_, err = decided.Delete(tb.Context(), "any", time.Unix(1, 0), false)
	must(tb, err)
	for _, p := range []*person{operator, consume} {
		if all, err := pipelines.Storers(tb.Context(), p.js); len(all) != 2 || err != nil {
			tb.Errorf("%v store the stream, want 2; %v", all, err)
		}
	}
	measure(tb, operator, consume, reader)
	fates, err := pipelines.OpenFates(tb.Context(), consume.js)
	must(tb, err)
	places, kinds, err := pipelines.Places(tb.Context(), consume.js, id, schemas.OfRun)
	must(tb, err)
	must(tb, fates.Purged(tb.Context(), id, "", 1, 1, &places))
	must(tb, pipelines.PurgeRun(tb.Context(), consume.js, id, kinds, 1<<40))
	must(tb, pipelines.ForgetSources(tb.Context(), consume.js, id))
	must(tb, fates.Rid(tb.Context(), id, "", []string{"a"}, []string{"a"}, time.Unix(2, 0)))
	if fate, err := decided.Of(tb.Context(), id); err != nil || fate.GoneNs == 0 || places.Count() != 1 {
		tb.Errorf("the run's fate is %+v, it was in %d places, want it gone from one; %v", fate, places.Count(), err)
	}
}

// measure has an operator measure what it may not read: who stores the stream answers. A reader is refused at once.
func measure(tb testing.TB, operator, consume, reader *person) {
	tb.Helper()
	answering, stop := context.WithCancel(tb.Context())
	var group errgroup.Group
	group.Go(func() error { return pipelines.AnswerMeasures(answering, consume.js) })
	defer func() {
		stop()
		must(tb, group.Wait())
	}()
	eventually(tb, "somebody answers", func() bool {
		_, err := operator.Request(pipelines.MeasureSubject, nil, time.Minute)
		return err == nil
	})
	own, err := pipelines.StreamShares(tb.Context(), consume.js)
	must(tb, err)
	asked, err := pipelines.AskShares(tb.Context(), operator.js)
	if err != nil || len(asked) != 2 || !maps.Equal(asked, own) {
		tb.Errorf("the stream holds %v, and the operator is told %v, %v", own, asked, err)
	}
	if _, err := pipelines.AskShares(tb.Context(), reader.js); !errors.Is(err, nats.ErrPermissionViolation) || !strings.Contains(err.Error(), "the user operator may") {
		tb.Errorf("a reader measures the stream: %v", err)
	}
	starts, err := pipelines.StartEpochs(tb.Context(), operator.js, "*") // whose spools lie here
	if len(starts) != 1 || err != nil {
		tb.Errorf("the operator finds the starts %v, want one; %v", starts, err)
	}
}

func consumerLooksAtSources(tb testing.TB, p *person) {
	tb.Helper()
	if sources, err := pipelines.Sources(tb.Context(), p.js); len(sources) != 6 || err != nil {
		tb.Errorf("sources %v, want 6; %v", sources, err)
	}
	if finished, err := pipelines.Finished(tb.Context(), p.js, "*"); len(finished) != 2 || err != nil {
		tb.Errorf("finished %v, want 2; %v", finished, err)
	}
	kept := 0
	for _, err := range pipelines.Kept(tb.Context(), p.js, 0, 0) {
		must(tb, err)
		kept++
	}
	if kept != 2 {
		tb.Errorf("%d messages of the stream, want 2", kept)
	}
}

// TestAnOperatorAsksAProducerAndNobodyElseHears has a producer of one run answer, though it may publish nowhere but under its run.
func TestAnOperatorAsksAProducerAndNobodyElseHears(t *testing.T) {
	t.Parallel()
	f := startFleet(t)
	must(t, pipelines.Prepare(t.Context(), f.as(t, "consume").js, config(t)))
	producer := f.as(t, "producer")
	_, err := pipelines.Admit(t.Context(), producer.js, pipelines.StartRequest{RunID: schemas.RunID(ownRun), Epoch: 1})
	must(t, err)
	heard := make(chan string, 1)
	own := "tensortap.control." + schemas.FormatID(schemas.RunID(ownRun))
	_, err = producer.Subscribe(own, func(m *nats.Msg) {
		for range 3 { // of three ranks
			_ = m.Respond([]byte(`{"state":"stopped","sequence":9}`))
		}
		select {
		case heard <- m.Reply:
		default:
		}
	})
	must(t, err)
	must(t, producer.Flush())
	operator, err := system.ConnectStream(system.Endpoint{NATS: f.url, Login: system.Login{Creds: f.seed("operator")}}, time.Now)
	must(t, err)
	defer operator.Close()
	asked, err := operator.Ask(t.Context(), ownRun, agent.Request{Do: "stop", Sequence: 9}, time.Minute)
	if err != nil || len(asked.Answers) != 1 {
		t.Fatalf("asked: %+v, %v", asked, err)
	}
	if reply := <-heard; !strings.HasPrefix(reply, "_INBOX.U") {
		t.Errorf("the answer goes to %s, want a place of the operator's own", reply)
	}
	if producer.wasRefused(t, own) || len(producer.refused) > 0 {
		t.Errorf("refused %q", producer.refused)
	}
}
