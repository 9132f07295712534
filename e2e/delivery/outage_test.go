package delivery

import (
	"context"
	"errors"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"golang.org/x/sync/errgroup"

	"github.com/tensortap/tensortap/e2e/internal/program"
	"github.com/tensortap/tensortap/internal/dev/recorded"
	"github.com/tensortap/tensortap/internal/dev/soak"
	"github.com/tensortap/tensortap/internal/dev/testbed"
	"github.com/tensortap/tensortap/internal/system"
	"github.com/tensortap/tensortap/pipelines"
	"github.com/tensortap/tensortap/producers/msprobe"
)

// shortAckWait is how long the stream waits for a store in these tests; outages last ten times as long.
const shortAckWait = 300 * time.Millisecond

// inProcess is a system within the test's process, so that its settings can be any.
type inProcess struct {
	endpoint system.Endpoint
	log      *testbed.Buffer
	stop     func()
}

func runSystem(tb testing.TB, change func(*system.Config)) *inProcess {
	tb.Helper()
	p := &inProcess{log: &testbed.Buffer{}}
	cfg := system.DefaultConfig(system.Folder(tb.TempDir()), time.Now)
	cfg.AckWait, cfg.ArchiveAge, cfg.Log = shortAckWait, 100*time.Millisecond, zerolog.New(p.log)
	cfg.Library, cfg.Command = testbed.Library(tb), program.Command(tb, program.Setting{}, "engine", "serve").Args
	change(&cfg)
	s, err := system.New(cfg)
	if err != nil {
		tb.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(tb.Context()))
	ready := make(chan system.Endpoint, 1)
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return s.Run(ctx, func(e system.Endpoint) error { ready <- e; return nil }) })
	p.stop = func() {
		cancel()
		if err := group.Wait(); err != nil {
			tb.Errorf("system: %v", err)
		}
	}
	tb.Cleanup(p.stop)
	select {
	case p.endpoint = <-ready:
	case <-ctx.Done():
		tb.Fatalf("the system did not start: %v\n%s", group.Wait(), p.log)
	}
	return p
}

// publish stores a dump.
func (p *inProcess) publish(tb testing.TB, dump published) {
	tb.Helper()
	client, err := system.ConnectStream(p.endpoint, time.Now)
	if err != nil {
		tb.Fatal(err)
	}
	defer client.Close()
	request := system.PublishRequest{Path: dump.dir, Run: dump.run, Labels: map[string]string{}}
	if _, err := client.Publish(tb.Context(), msprobe.Tool(), request, func(int64, int64) {}); err != nil {
		tb.Fatal(err)
	}
}

// outage publishes before, during and after the database is away, and checks all stores.
func (p *inProcess) outage(t *testing.T, begin, end func()) {
	t.Helper()
	js := program.ConnectStream(t, p.endpoint.NATS)
	sources := []published{
		{recorded.Unpack(t, "B14_nan_l2_mlp_step1_mix"), "before"}, {recorded.Unpack(t, "D_tp_golden"), "during"}, {recorded.Unpack(t, "A_llama_L1_md5"), "as it ends"},
	}
	p.publish(t, sources[0])
	begin()
	p.publish(t, sources[1])
	awaitStored(t, js, "parquet") // the archive does not care
	time.Sleep(10 * shortAckWait)
	if stored, err := pipelines.ConsumerProgress(t.Context(), js, "clickhouse"); err != nil || stored.CaughtUp() {
		t.Errorf("while the database is away: %+v, %v", stored, err)
	}
	p.publish(t, sources[2])
	awaitStored(t, js, "parquet")
	end()
	awaitStored(t, js, "clickhouse")
	p.requireEqual(t, sources)
}

// requireEqual stops the system and compares all stores with the sources.
func (p *inProcess) requireEqual(tb testing.TB, sources []published) {
	tb.Helper()
	stream, err := tallyStream(tb.Context(), program.ConnectStream(tb, p.endpoint.NATS))
	database, databaseErr := tallyDatabase(tb.Context(), p.endpoint.ClickHouse)
	source, sourceErr := tallySources(tb.Context(), sources)
	p.stop()
	files, filesErr := tallyArchive(tb.Context(), p.endpoint.Archive)
	if err := errors.Join(err, databaseErr, sourceErr, filesErr); err != nil {
		tb.Fatal(err)
	}
	requireTallies(tb, source, map[string]*tally{"stream": stream, "database": database, "archive": files})
}

func TestADatabaseThatIsAwayForLongMissesNothing(t *testing.T) {
	t.Parallel()
	engine, dsn := separateEngine(t)
	p := runSystem(t, func(c *system.Config) { c.ClickHouse = dsn })
	p.outage(t, engine.kill, engine.start)
	for _, said := range []string{"store is unavailable, trying again", "store is back"} {
		if !strings.Contains(p.log.String(), said) {
			t.Errorf("the log lacks %q: %s", said, p.log)
		}
	}
}

func TestADatabaseThatHangsForLongMissesNothing(t *testing.T) {
	t.Parallel()
	soak.Only(t)
	engine, dsn := separateEngine(t)
	p := runSystem(t, func(c *system.Config) { c.ClickHouse = dsn })
	var hung []int
	signal := func(which syscall.Signal) {
		for _, pid := range hung {
			if err := syscall.Kill(pid, which); err != nil {
				t.Error(err)
			}
		}
	}
	p.outage(t, func() {
		hung = program.ChildrenOf(engine.process.Cmd.Process.Pid)
		if len(hung) == 0 {
			t.Fatal("the engine has no process")
		}
		signal(syscall.SIGSTOP)
	}, func() { signal(syscall.SIGCONT) })
}

func TestAPublisherGoesOnWhenUpIsStartedAgain(t *testing.T) {
	t.Parallel()
	u := program.StartUp(t, t.TempDir(), "--archive-age", "100ms")
	dump := published{enlarged(t, recorded.Unpack(t, "D_tp_golden"), 200), "run"}
	publisher := program.NewUp(u.Data, program.Command(t, u.Setting, "publish", "msprobe", dump.dir, "--run", dump.run))
	if err := publisher.Begin(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = publisher.Kill() })
	js := program.ConnectStream(t, u.Endpoint.NATS)
	err := program.Await(20*time.Second, "some messages", func() bool {
		stream, err := js.Stream(t.Context(), pipelines.StreamName)
		return err == nil && stream.CachedInfo().State.Msgs > 5
	})
	if err := errors.Join(err, u.Kill()); err != nil {
		t.Fatal(err)
	}
	select {
	case <-publisher.Ended:
		t.Fatalf("the publisher ended too early to be tested: %s%s", publisher.Stdout, publisher.Stderr)
	case <-time.After(100 * time.Millisecond):
	}
	u = program.StartUp(t, u.Data, "--archive-age", "100ms")
	select {
	case <-publisher.Ended:
	case <-time.After(60 * time.Second):
		t.Fatalf("the publisher did not go on: %s%s", publisher.Stdout, publisher.Stderr)
	}
	if publisher.Cmd.ProcessState.ExitCode() != 0 {
		t.Errorf("publish: %v\n%s%s", publisher.Cmd.ProcessState, publisher.Stdout, publisher.Stderr)
	}
	t.Logf("publish: %s%s", publisher.Stdout, publisher.Stderr)
	requireAll(t, u, []published{dump})
}
