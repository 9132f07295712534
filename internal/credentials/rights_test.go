package credentials_test

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nkeys"
	"github.com/rs/zerolog"
	"golang.org/x/sync/errgroup"

	"github.com/tensortap/tensortap/internal/credentials"
	"github.com/tensortap/tensortap/internal/dev/testbed"
	"github.com/tensortap/tensortap/internal/system"
	"github.com/tensortap/tensortap/pipelines"
	"github.com/tensortap/tensortap/producers/agent"
	"github.com/tensortap/tensortap/schemas"
)

// ownRun is the run that the producer of these tests may publish.
const ownRun = "nightly"

// fleet is a NATS server with the configuration of deploy and users of all roles.
type fleet struct {
	folder string
	url    string
}

func startFleet(tb testing.TB) *fleet {
	tb.Helper()
	return startWith(tb, "nats.conf", nil)
}

// startWith is a fleet with one of the configurations of deploy. An authority makes the certificates that it names.
func startWith(tb testing.TB, name string, signs *testbed.Authority) *fleet {
	tb.Helper()
	f := &fleet{folder: filepath.Join(tb.TempDir(), "secrets")}
	_, err := credentials.Make(credentials.Request{Folder: f.folder, Database: "clickhouse:8123", Runs: []string{ownRun}})
	must(tb, err)
	f.copyConfigurations(tb, signs)
	options, err := server.ProcessConfigFile(filepath.Join(f.folder, name))
	must(tb, err)
	// A place of the test's own; all else is as it is deployed.
	options.Host, options.Port, options.HTTPPort, options.StoreDir, options.NoSigs, options.NoLog = "127.0.0.1", -1, 0, tb.TempDir(), true, true
	nats, err := server.NewServer(options)
	must(tb, err)
	nats.Start()
	tb.Cleanup(func() { nats.Shutdown(); nats.WaitForShutdown() })
	if !nats.ReadyForConnections(time.Minute) {
		tb.Fatal("the server is not ready after a minute")
	}
	f.url = nats.ClientURL()
	return f
}

// configurations are those of deploy.
func configurations(tb testing.TB) []string {
	tb.Helper()
	files, err := filepath.Glob(filepath.Join("..", "..", "deploy", "nats", "*"))
	must(tb, err)
	return files
}

// copyConfigurations puts them beside the users that they include.
func (f *fleet) copyConfigurations(tb testing.TB, signs *testbed.Authority) {
	tb.Helper()
	for _, file := range configurations(tb) {
		text, err := os.ReadFile(file)
		must(tb, err)
		if signs != nil {
			text = []byte(strings.ReplaceAll(string(text), "/etc/nats/tls/", signs.Path("")+"/"))
		}
		must(tb, os.WriteFile(filepath.Join(f.folder, filepath.Base(file)), text, 0o600))
	}
}

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

func (f *fleet) seed(role string) string {
	if role == "producer" {
		return filepath.Join(f.folder, "producer-"+schemas.FormatID(schemas.RunID(ownRun))+".nk")
	}
	return filepath.Join(f.folder, role+".nk")
}

// person is a connection as one role, and what the server refused it.
type person struct {
	*nats.Conn
	js      jetstream.JetStream
	mutex   sync.Mutex
	refused []string
}

func (f *fleet) as(tb testing.TB, role string) *person {
	tb.Helper()
	p := &person{}
	options, err := system.Login{Creds: f.seed(role)}.NATS()
	must(tb, err)
	options = append(options, nats.Timeout(time.Minute), nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
		p.mutex.Lock()
		defer p.mutex.Unlock()
		p.refused = append(p.refused, err.Error())
	}))
	p.Conn, err = nats.Connect(f.url, options...)
	must(tb, err)
	tb.Cleanup(p.Close)
	p.js, err = jetstream.New(p.Conn, jetstream.WithDefaultTimeout(time.Minute))
	must(tb, err)
	return p
}

// wasRefused says whether the server refused something that names the subject. All that was sent before is answered by then.
func (p *person) wasRefused(tb testing.TB, subject string) bool {
	tb.Helper()
	must(tb, p.FlushTimeout(time.Minute))
	err := p.LastError()
	return errors.Is(err, nats.ErrPermissionViolation) && strings.Contains(err.Error(), `"`+subject+`"`)
}

const (
	own   = "tap.tensor.OWN.0"
	other = "tap.tensor.0123456789abcdef.0"
)

// publishing is each thing that a role could say, and which roles may.
func publishing() map[string][]string {
	all := everybody()
	writers := []string{"consume", "agent"}
	return map[string][]string{
		own:                                                       {"consume", "agent", "producer"},
		other:                                                     writers,
		"tap.op.0123456789abcdef.3":                               writers,
		"tap.verdict.OWN.0":                                       {"consume", "judge", "serve", "operator"},
		"tap.baseline.0123456789abcdef.0":                         {"consume", "operator"},
		"tap.alert.0000000000000000.0":                            {"consume", "alert", "agent"},
		"tap.audit.0000000000000000.4294967295":                   {"consume", "operator"},
		"tap.audit.OWN.0":                                         {"consume"},
		"tap.dead_letter.0000000000000000.0":                      {"consume", "judge", "alert", "serve", "agent", "producer", "operator"},
		"dead.publisher":                                          {"consume", "judge", "alert", "serve", "agent", "producer", "operator"},
		"dead.clickhouse":                                         {"consume"},
		"tensortap.control.OWN":                                   {"operator"},
		"tensortap.heal":                                          {"operator"},
		"tensortap.measure":                                       {"operator"},
		"$KV.tap_sources.OWN.0":                                   {"consume", "agent", "producer"},
		"$KV.tap_sources.beside.OWN.0.1":                          {"consume", "agent", "producer"},
		"$KV.tap_sources.0123456789abcdef.0":                      writers,
		"$KV.tap_leases.work":                                     {"consume", "judge", "alert"},
		"$KV.tap_alerts.silence.1":                                {"alert", "operator"},
		"$JS.API.STREAM.PURGE.KV_tap_leases":                      {"consume", "judge", "alert"},
		"$KV.tap_alerts.told.1":                                   {"alert"},
		"$JS.API.STREAM.INFO.TAP":                                 all,
		"$JS.API.CONSUMER.INFO.TAP.clickhouse":                    {"consume", "judge", "alert", "serve", "reader", "operator"},
		"$JS.API.CONSUMER.MSG.NEXT.TAP.clickhouse":                {"consume"},
		"$JS.API.CONSUMER.CREATE.TAP.mine":                        {"consume"},
		"$JS.API.CONSUMER.CREATE.KV_tap_sources.mine":             {"consume", "judge", "serve", "reader", "operator"},
		"$JS.API.CONSUMER.DELETE.TAP.nobody":                      {"consume"},
		"$JS.API.CONSUMER.RESET.TAP.nobody":                       {"consume"},
		"$JS.API.STREAM.MSG.GET.TAP":                              {"consume", "alert", "serve", "operator"},
		"$JS.API.STREAM.CREATE.KV_tap_alerts":                     {"alert", "operator"},
		"$JS.API.STREAM.MSG.GET.KV_tap_sources":                   nil,
		"$JS.API.DIRECT.GET.KV_tap_sources.$KV.tap_sources.OWN.0": {"consume", "agent", "producer", "operator"},
		"$JS.API.DIRECT.GET.KV_tap_sources.$KV.tap_sources.0123456789abcdef.0": {"consume", "agent", "operator"},
		"$JS.API.STREAM.CREATE.TAP":                       {"consume"},
		"$JS.API.STREAM.UPDATE.TAP":                       {"consume"},
		"$JS.API.STREAM.CREATE.ANOTHER":                   nil,
		"$JS.API.STREAM.DELETE.TAP":                       nil,
		"$JS.API.STREAM.PURGE.TAP":                        {"consume"},
		"$JS.API.STREAM.PURGE.KV_tap_runs":                nil,
		"$JS.API.CONSUMER.LIST.TAP":                       {"consume", "alert", "serve", "operator"},
		"$KV.tap_runs.OWN":                                {"consume", "operator"},
		"$JS.API.DIRECT.GET.KV_tap_runs.$KV.tap_runs.OWN": {"consume", "alert", "agent", "producer", "operator"},
		"$JS.API.STREAM.MSG.DELETE.TAP":                   nil,
		"$JS.API.STREAM.SNAPSHOT.TAP":                     nil,
		"$JS.ACK.TAP.clickhouse.1.1.1.1.0":                {"consume"},
		"_INBOX.somebody.1":                               nil,
		"anything":                                        nil,
	}
}

// hearing is each thing that a role could listen to, and which roles may.
func hearing() map[string][]string {
	return map[string][]string{
		"tap.>": nil, ">": nil, "dead.>": nil, "$KV.>": nil, "$JS.>": nil, "_INBOX.>": nil, "_INBOX.somebody.*": nil,
		own:                   nil,
		"tensortap.control.*": {"agent", "producer"},
		"tensortap.heal":      {"consume"},
		"tensortap.measure":   {"consume"},
		"tensortap.>":         nil,
	}
}

func ofOwnRun(subject string) string {
	return strings.ReplaceAll(subject, "OWN", schemas.FormatID(schemas.RunID(ownRun)))
}

func everybody() []string {
	return []string{"consume", "judge", "alert", "serve", "agent", "producer", "reader", "operator"}
}

func TestEachRoleMayDoWhatItNeedsAndNothingElse(t *testing.T) {
	t.Parallel()
	f := startFleet(t)
	for _, role := range everybody() {
		for subject, who := range publishing() {
			subject = ofOwnRun(subject)
			p := f.as(t, role)
			must(t, p.Publish(subject, nil))
			if may, want := !p.wasRefused(t, subject), slices.Contains(who, role); may != want {
				t.Errorf("%s publishes %s: allowed %v, want %v", role, subject, may, want)
			}
			p.Close()
		}
		for subject, who := range hearing() {
			subject = ofOwnRun(subject)
			p := f.as(t, role)
			_, err := p.SubscribeSync(subject)
			must(t, err)
			if may, want := !p.wasRefused(t, subject), slices.Contains(who, role); may != want {
				t.Errorf("%s listens to %s: allowed %v, want %v", role, subject, may, want)
			}
			p.Close()
		}
	}
}

func TestWhoIsNotListedIsRefused(t *testing.T) {
	t.Parallel()
	f := startFleet(t)
	stranger := t.TempDir()
	_, err := credentials.Make(credentials.Request{Folder: stranger, Database: "clickhouse:8123"})
	must(t, err)
	options, err := system.Login{Creds: filepath.Join(stranger, "admin.nk")}.NATS()
	must(t, err)
	for name, with := range map[string][]nats.Option{"nobody": nil, "a user of another fleet": options, "a password": {nats.UserInfo("admin", "admin")}} {
		if conn, err := nats.Connect(f.url, append(with, nats.Timeout(time.Minute))...); !errors.Is(err, nats.ErrAuthorization) {
			t.Errorf("%s: %v, want %v", name, err, nats.ErrAuthorization)
			conn.Close()
		}
	}
}

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
	removeRun(t, people["operator"], people["consume"])
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
	must(tb, pipelines.FinishStart(tb.Context(), p.js, start, true))
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
func removeRun(tb testing.TB, operator, consume *person) {
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
	measure(tb, operator, consume)
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

// measure has an operator measure what it may not read: who stores the stream answers.
func measure(tb testing.TB, operator, consume *person) {
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
	_, err = producer.Subscribe("tensortap.control.*", func(m *nats.Msg) {
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
	if producer.wasRefused(t, "tensortap.control.*") || len(producer.refused) > 0 {
		t.Errorf("refused %q", producer.refused)
	}
}

func TestCredentialsStayAsTheyAre(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "secrets")
	request := credentials.Request{Folder: folder, Database: "db:8123"}
	first, err := credentials.Make(request)
	must(t, err)
	if len(first) != len(credentials.Roles())+7 {
		t.Errorf("%d files: %v", len(first), first)
	}
	if again, err := credentials.Make(request); len(again) > 0 || err != nil {
		t.Errorf("made again: %v, %v", again, err)
	}
	request.Runs = []string{"a # run\u00e9 } b", "line\nbreak \u0085 \u2028 \\"}
	more, err := credentials.Make(request)
	must(t, err)
	if len(more) != 3 || !slices.Contains(more, "users.conf") {
		t.Errorf("with two runs: %v", more)
	}
	if _, err := server.ProcessConfigFile(filepath.Join(folder, "users.conf")); err != nil {
		t.Error(err)
	}
	info, err := os.Stat(folder)
	must(t, err)
	if info.Mode().Perm() != 0o700 {
		t.Errorf("the folder is %v, want 0700", info.Mode())
	}
}

func TestBadCredentialsAreNamed(t *testing.T) {
	t.Parallel()
	pair, err := nkeys.CreateUser()
	must(t, err)
	seed, err := pair.Seed()
	must(t, err)
	for name, c := range map[string]struct{ file, text, want string }{
		"no seed":        {"judge.nk", "nothing\n", "holds no seed: remove it"},
		"half a seed":    {"judge.nk", string(seed[:20]) + "\n", "holds no seed: remove it"},
		"no role":        {"king.nk", string(seed), "is the key of no role"},
		"a nameless run": {"producer-0123456789abcdef.nk", "# run \"x\"\n" + string(seed), "does not name its run"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			folder := t.TempDir()
			must(t, os.WriteFile(filepath.Join(folder, c.file), []byte(c.text), 0o600))
			if _, err := credentials.Make(credentials.Request{Folder: folder, Database: "db:8123"}); err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), string(seed[:20])) {
				t.Errorf("%v, want %q and no seed", err, c.want)
			}
		})
	}
	_, err = credentials.Make(credentials.Request{Folder: t.TempDir(), Runs: []string{""}})
	if err == nil || !strings.Contains(err.Error(), `run ""`) {
		t.Errorf("a run without a name: %v", err)
	}
}
