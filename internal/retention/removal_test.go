package retention_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/tensortap/tensortap/consumers/clickhouse"
	"github.com/tensortap/tensortap/consumers/consumertest"
	"github.com/tensortap/tensortap/consumers/parquet"
	"github.com/tensortap/tensortap/internal/dev/testbed"
	"github.com/tensortap/tensortap/internal/retention"
	"github.com/tensortap/tensortap/pipelines"
	"github.com/tensortap/tensortap/schemas"
)

// TestMain lets the test binary be its own engine, as the real binary is.
func TestMain(m *testing.M) {
	testbed.ServeEngine()
	os.Exit(m.Run())
}

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

// stores are a stream, tables and an archive that outlive the processes which write them.
type stores struct {
	js     jetstream.JetStream
	tables *testbed.Database
	data   string
}

func startStores(t *testing.T) *stores {
	t.Helper()
	s := &stores{js: startStream(t), tables: testbed.StartDatabase(t), data: t.TempDir()}
	cfg := pipelines.DefaultConfig()
	cfg.Stream.MaxBytes, cfg.Stream.DeadMaxBytes, cfg.Publish.SpillDir = 1<<28, 1<<26, t.TempDir()
	must(t, pipelines.Prepare(t.Context(), s.js, cfg))
	return s
}

func startStream(t *testing.T) jetstream.JetStream {
	t.Helper()
	nodes, err := server.NewServer(&server.Options{
		JetStream: true, StoreDir: t.TempDir(), Host: "127.0.0.1", Port: -1, NoLog: true, NoSigs: true, MaxPayload: schemas.MaxMessageBytes + 64<<10,
	})
	must(t, err)
	nodes.Start()
	t.Cleanup(nodes.Shutdown)
	if !nodes.ReadyForConnections(time.Minute) {
		t.Fatal("the NATS server is not ready within a minute")
	}
	conn, err := nats.Connect(nodes.ClientURL(), nats.Timeout(time.Minute))
	must(t, err)
	t.Cleanup(conn.Close)
	js, err := jetstream.New(conn, jetstream.WithDefaultTimeout(time.Minute))
	must(t, err)
	return js
}

// process is what writes the stores until it is killed.
type process struct {
	*stores
	removal *retention.Removal
}

func (s *stores) begin(t *testing.T) *process {
	t.Helper()
	cfg := parquet.DefaultConfig()
	cfg.Dir = filepath.Join(s.data, "archive")
	archive, err := parquet.New(cfg)
	must(t, err)
	if r, err := archive.Open(t.Context()); err != nil || r.Damaged() || r.Adopted+r.Aside > 0 {
		t.Fatalf("the archive opens with %+v, %v", r, err)
	}
	tables, err := clickhouse.New(clickhouse.DefaultConfig(), s.tables.Conn)
	must(t, err)
	return &process{s, &retention.Removal{
		Stream:   &retention.Stream{JetStream: s.js, Note: s.purged().Add},
		Database: s.tables.Conn, Tables: tables, Archive: archive, Deleted: &retention.Deleted{},
		Copied: func(context.Context, uint64, ...string) error { return nil },
		Local:  retention.Local{Logs: filepath.Join(s.data, "logs"), Payloads: filepath.Join(s.data, "payloads")},
	}}
}

func (s *stores) purged() retention.PurgedFile {
	return retention.PurgedFile(filepath.Join(s.data, "purged"))
}

// kill ends the process; the lock of the archive goes with it.
func (p *process) kill(t *testing.T) {
	t.Helper()
	must(t, p.removal.Archive.Close())
}

// store has all places hold something of a run.
func (p *process) store(t *testing.T, run string, producer uint64) {
	t.Helper()
	of := consumertest.Producer(producer)
	of.RunID = schemas.RunID(run)
	for _, kind := range []string{"tensor", "step", "payload_error", "baseline"} {
		for _, m := range consumertest.Messages(consumertest.Batches(t, kind, of, 2, 10)) {
			p.publish(t, m)
			if kind != "payload_error" { // whose rows are of random runs
				must(t, p.removal.Tables.Write(t.Context(), []schemas.Message{m}))
			}
			must(t, p.removal.Archive.Write(t.Context(), []schemas.Message{m}))
		}
	}
	start := pipelines.StartRequest{RunID: of.RunID, Rank: 3, Epoch: of.Epoch}
	_, err := pipelines.Admit(t.Context(), p.js, start)
	must(t, err)
	must(t, pipelines.FinishStart(t.Context(), p.js, start, true, 0))
	for _, file := range []string{"logs/" + schemas.FormatID(of.RunID) + "/0/out", "payloads/17-" + schemas.FormatID(of.Epoch) + "/0-0-0.npy", "traces/" + schemas.FormatID(of.RunID) + "/a"} {
		path := filepath.Join(p.data, file)
		must(t, os.MkdirAll(filepath.Dir(path), 0o700))
		must(t, os.WriteFile(path, []byte("some"), 0o600))
	}
}

func (s *stores) publish(t *testing.T, m schemas.Message) {
	t.Helper()
	_, err := s.js.PublishMsg(t.Context(), &nats.Msg{Subject: m.Subject(), Header: m.NATSHeader(), Data: m.Data})
	must(t, err)
}

// room is by place what a run takes.
func (s *stores) room(t *testing.T, run string) map[string]retention.Use {
	t.Helper()
	measured := retention.Stores{
		Stream: s.js, Database: s.tables.Conn, Archive: filepath.Join(s.data, "archive"),
		Local: retention.Local{Logs: filepath.Join(s.data, "logs"), Payloads: filepath.Join(s.data, "payloads")},
	}
	uses, err := measured.Uses(t.Context())
	must(t, err)
	room := map[string]retention.Use{}
	for _, u := range uses {
		if u.RunID == schemas.RunID(run) {
			if u.Store == retention.InTables {
				u.Bytes = 0 // merges change them
			}
			room[u.Store] = u
		}
	}
	return room
}

// lost is how many messages are gone from the stream that no deletion accounts for.
func (s *stores) lost(t *testing.T) uint64 {
	t.Helper()
	stream, err := s.js.Stream(t.Context(), pipelines.StreamName)
	must(t, err)
	info, err := stream.Info(t.Context(), jetstream.WithDeletedDetails(true))
	must(t, err)
	if !s.purged().Covers(info.Created.UnixNano(), info.State.FirstSeq) {
		t.Errorf("messages before %d are gone without a reason", info.State.FirstSeq)
	}
	return uint64(len(s.purged().Others(info.Created.UnixNano(), info.State.Deleted)))
}

var errKilled = errors.New("killed")

func TestADeletionGoesOnWhereverItWasKilled(t *testing.T) {
	t.Parallel()
	s := startStores(t)
	p := s.begin(t)
	fates, err := pipelines.OpenFates(t.Context(), s.js)
	must(t, err)
	p.store(t, "kept", 1)
	kept := s.room(t, "kept")
	if len(kept) != 6 {
		t.Fatalf("the run takes room in %v, want it in six places", kept)
	}
	for i, step := range []string{"inserts", "stream", "tables", "archive", "copy", "folders", "sources", "none"} {
		run := fmt.Sprint("killed before ", step)
		p.store(t, run, uint64(i)+2)
		fate, err := fates.Delete(t.Context(), run, time.Unix(5, 0), false)
		must(t, err)
		p.removal.Step = func(name string) error {
			if name == step {
				return errKilled
			}
			return nil
		}
		if err := p.removal.Carry(t.Context(), schemas.RunID(run), retention.Whole, &fate); !errors.Is(err, errKilled) && step != "none" {
			t.Errorf("%s: Carry = %v", run, err)
		}
		p.kill(t)
		p = s.begin(t)
		must(t, p.removal.Carry(t.Context(), schemas.RunID(run), retention.Whole, &fate))
		if room := s.room(t, run); len(room) > 0 {
			t.Errorf("%s: left is %v", run, room)
		}
		if epochs, err := pipelines.StartEpochs(t.Context(), s.js, schemas.FormatID(schemas.RunID(run))); err != nil || len(epochs) > 0 {
			t.Errorf("%s: its starts are known: %v, %v", run, epochs, err)
		}
	}
	if now := s.room(t, "kept"); fmt.Sprint(now) != fmt.Sprint(kept) {
		t.Errorf("the run beside takes %v, before %v", now, kept)
	}
	if lost := s.lost(t); lost > 0 {
		t.Errorf("%d messages are gone without a reason", lost)
	}
	s.comesLate(t, p, "killed before none")
	p.kill(t)
}

func TestOfARunItsDetailsGoWhereverThatIsKilled(t *testing.T) {
	t.Parallel()
	s := startStores(t)
	p := s.begin(t)
	fates, err := pipelines.OpenFates(t.Context(), s.js)
	must(t, err)
	p.store(t, "reduced", 1)
	before := s.room(t, "reduced")
	decided, err := fates.RemovePart(t.Context(), "reduced", retention.Details, time.Unix(5, 0))
	if err != nil || !decided {
		t.Fatalf("RemovePart = %v, %v", decided, err)
	}
	if again, err := fates.RemovePart(t.Context(), "reduced", retention.Details, time.Unix(6, 0)); err != nil || again {
		t.Errorf("RemovePart again = %v, %v", again, err)
	}
	id := schemas.RunID("reduced")
	fate, err := fates.Of(t.Context(), id)
	must(t, err)
	for _, step := range []string{"stream", "tables", "archive", "folders", "none"} {
		p.removal.Step = func(name string) error {
			if name == step {
				return errKilled
			}
			return nil
		}
		if err := p.removal.Carry(t.Context(), id, retention.Details, &fate); !errors.Is(err, errKilled) && step != "none" {
			t.Errorf("%s: Carry = %v", step, err)
		}
		p.kill(t)
		p = s.begin(t)
	}
	after := s.room(t, "reduced")
	for _, place := range []string{retention.InLogs, retention.InPayloads, retention.InTraces} {
		if after[place].Bytes > 0 {
			t.Errorf("of %s, %d bytes are left", place, after[place].Bytes)
		}
	}
	for _, place := range []string{retention.InStream, retention.InArchive} {
		if gone := before[place].Rows - after[place].Rows; gone != 20 || after[place].Rows == 0 {
			t.Errorf("from %s %d of %d rows are gone, want the 20 of tensor", place, gone, before[place].Rows)
		}
	}
	if lost := s.lost(t); lost > 0 {
		t.Errorf("%d messages are gone without a reason", lost)
	}
	if epochs, err := pipelines.StartEpochs(t.Context(), s.js, schemas.FormatID(id)); err != nil || len(epochs) == 0 {
		t.Errorf("what was published of it is forgotten: %v, %v", epochs, err)
	}
	p.kill(t)
}

// comesLate publishes an event of a deleted run.
func (s *stores) comesLate(t *testing.T, p *process, run string) {
	t.Helper()
	late := consumertest.Producer(99)
	late.RunID = schemas.RunID(run)
	m := consumertest.Messages(consumertest.Batches(t, "step", late, 1, 10))[0]
	s.publish(t, m)
	for _, sink := range []pipelines.Sink{p.removal.Tables, p.removal.Archive} {
		must(t, p.removal.Deleted.Heeding(sink).Write(t.Context(), []schemas.Message{m}))
	}
	if room := s.room(t, run); len(room) != 1 || room[retention.InStream].Rows != 10 {
		t.Errorf("what came late takes %v, want ten rows in the stream alone", room)
	}
	must(t, p.removal.Stream.Purge(t.Context(), late.RunID, retention.Whole))
	if room := s.room(t, run); len(room) > 0 || s.lost(t) > 0 {
		t.Errorf("after it was purged, left is %v, %d messages are lost", room, s.lost(t))
	}
}

func TestOfAPinAndADeletionOneWins(t *testing.T) {
	t.Parallel()
	js := startStream(t)
	_, err := js.CreateKeyValue(t.Context(), jetstream.KeyValueConfig{Bucket: pipelines.SourceBucket})
	must(t, err)
	fates, err := pipelines.OpenFates(t.Context(), js)
	must(t, err)
	ctx := context.WithoutCancel(t.Context())
	for i := range 20 {
		run := fmt.Sprint("run ", i)
		pinned := make(chan error, 1)
		go func() { pinned <- fates.Pin(ctx, run, time.Unix(1, 0)) }()
		_, deleting := fates.Delete(ctx, run, time.Unix(2, 0), false)
		pinning := <-pinned
		fate, err := fates.Of(ctx, schemas.RunID(run))
		must(t, err)
		if (pinning == nil) == (deleting == nil) || fate.Deleted() == (fate.PinnedNs != 0) {
			t.Errorf("pin: %v, delete: %v, fate %+v", pinning, deleting, fate)
		}
	}
}
