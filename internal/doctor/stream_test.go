package doctor_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/tensortap/tensortap/consumers/alerts"
	"github.com/tensortap/tensortap/internal/doctor"
	"github.com/tensortap/tensortap/internal/embedded"
	"github.com/tensortap/tensortap/internal/system"
	"github.com/tensortap/tensortap/pipelines"
	"github.com/tensortap/tensortap/schemas"
)

// stream is a server with the streams, at which rank 3 of run bad is known to live.
func stream(t *testing.T) (jetstream.JetStream, string) {
	t.Helper()
	server, err := embedded.NewNATS(embedded.DefaultNATSConfig(t.TempDir()))
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- server.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	<-server.Ready()
	conn, err := nats.Connect(server.URL(), nats.Timeout(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	js, err := jetstream.New(conn, jetstream.WithDefaultTimeout(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	prepare(t, js, false)
	if _, err := pipelines.Admit(t.Context(), js, pipelines.StartRequest{RunID: schemas.RunID("bad"), Rank: 3, Epoch: 1}); err != nil {
		t.Fatal(err)
	}
	put(t, js, 0, &schemas.RunRow{RunID: schemas.RunID("bad"), Name: "bad"})
	return js, server.URL()
}

// prepare makes the streams, or has the one of events be shared out from then on.
func prepare(t *testing.T, js jetstream.JetStream, sharded bool) {
	t.Helper()
	cfg := pipelines.DefaultConfig()
	cfg.Stream.MaxBytes, cfg.Stream.DeadMaxBytes, cfg.Publish.SpillDir = 64<<20, 16<<20, t.TempDir()
	cfg.Stream.Sharded = sharded
	if err := pipelines.Prepare(t.Context(), js, cfg); err != nil {
		t.Fatal(err)
	}
}

// put publishes a row of rank 3 of run bad.
func put[R any, P interface {
	*R
	schemas.Row[R]
}](t *testing.T, js jetstream.JetStream, batch uint64, row P) {
	t.Helper()
	rows := schemas.NewBuilder[R, P]()
	rows.Append(row)
	m, err := rows.Message(schemas.Identity{RunID: schemas.RunID("bad"), Rank: 3, Epoch: 1, Batch: batch})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := js.PublishMsg(t.Context(), &nats.Msg{Subject: m.Subject(), Header: m.NATSHeader(), Data: m.Data}); err != nil {
		t.Fatal(err)
	}
}

func TestWhatIsWrongWithStreamRanksAndClocksIsNamed(t *testing.T) {
	t.Parallel()
	js, url := stream(t)
	in := installation(t)
	in.Find = func() (system.Endpoint, error) { return system.Endpoint{NATS: url}, nil }
	put(t, js, 0, &schemas.HeartbeatRow{EventTimeNs: time.Now().UnixNano(), State: "running"})
	expect(t, in, "well", map[string]string{
		"stream": "well: it holds 2 messages", "clocks": "well: of 1 rank just", "dead letters": "well: ", "consumer clickhouse": "well: it is 2 messages behind", "system": "well: its servers are asked",
	})
	put(t, js, 1, &schemas.HeartbeatRow{EventTimeNs: time.Now().Add(time.Hour).UnixNano(), State: "running"})
	expect(t, in, "a clock that is off", map[string]string{"clocks": "wrong: the clocks of 1 rank of run bad are off: that of one is "})
	in.Now = func() time.Time { return time.Now().Add(150 * time.Second) }
	expect(t, in, "two minutes later", map[string]string{
		"agents": "wrong: 1 rank of run bad has not ended", "consumer parquet": "wrong: it is 2m", "clocks": "wrong: the clock of this host is 2m",
	})
	if err := pipelines.FinishStart(t.Context(), js, pipelines.StartRequest{RunID: schemas.RunID("bad"), Rank: 3, Epoch: 1}, true, 0); err != nil {
		t.Fatal(err)
	}
	if got := of(doctor.Examine(t.Context(), in), "agents"); got != "" {
		t.Errorf("of a rank that has ended the doctor says %q", got)
	}
}

// TestRanksAreHeardInAStreamThatIsSharedOut has a rank give a sign of life before its stream is shared out, and the next one since.
func TestRanksAreHeardInAStreamThatIsSharedOut(t *testing.T) {
	t.Parallel()
	js, url := stream(t)
	in := installation(t)
	in.Find = func() (system.Endpoint, error) { return system.Endpoint{NATS: url}, nil }
	put(t, js, 0, &schemas.HeartbeatRow{EventTimeNs: time.Now().UnixNano(), State: "running"})
	prepare(t, js, true)
	put(t, js, 1, &schemas.RunRow{RunID: schemas.RunID("bad"), Name: "bad"})
	put(t, js, 1, &schemas.HeartbeatRow{EventTimeNs: time.Now().Add(time.Hour).UnixNano(), State: "running"})
	expect(t, in, "an hour ahead", map[string]string{"clocks": "wrong: the clocks of 1 rank of run bad are off"})
	in.Now = func() time.Time { return time.Now().Add(150 * time.Second) }
	expect(t, in, "silent", map[string]string{"agents": "wrong: 1 rank of run bad has not ended"})
}

// expect waits until parts' findings say these texts.
func expect(t *testing.T, in doctor.Installation, name string, want map[string]string) {
	t.Helper()
	var wrong []string
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(10 * time.Millisecond) { // the server counts a moment later
		if wrong = unlike(doctor.Examine(t.Context(), in), want); len(wrong) == 0 {
			return
		}
	}
	t.Errorf("%s: %s", name, strings.Join(wrong, "; "))
}

// unlike is which parts' findings do not say the text that is wanted of them.
func unlike(findings []doctor.Finding, want map[string]string) (wrong []string) {
	for part, text := range want {
		if got := of(findings, part); !strings.Contains(got, text) {
			wrong = append(wrong, fmt.Sprintf("of %s the doctor says %q, want %q", part, got, text))
		}
	}
	return wrong
}

// TestWhoSharesWorkIsNamed has nobody tell of alerts, where somebody did before, and then a role and a judge be at work.
func TestWhoSharesWorkIsNamed(t *testing.T) {
	t.Parallel()
	js, url := stream(t)
	in := installation(t)
	in.Find = func() (system.Endpoint, error) { return system.Endpoint{NATS: url}, nil }
	if got := of(doctor.Examine(t.Context(), in), "alerts"); got != "" {
		t.Errorf("where nobody was ever told of alerts, the doctor says %q", got)
	}
	bucket, err := pipelines.OpenAlertBucket(t.Context(), js)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := bucket.Create(t.Context(), "told.oncall", []byte("{}")); err != nil {
		t.Fatal(err)
	}
	if got := of(doctor.Examine(t.Context(), in), "alerts"); !strings.HasPrefix(got, "wrong: nobody asks the alert rules now, and receivers were told before: oncall [tensortap alert") {
		t.Errorf("without a role the doctor says %q", got)
	}
	leases, err := pipelines.OpenLeases(t.Context(), js, "host1 77 TOKEN")
	if err != nil {
		t.Fatal(err)
	}
	for _, work := range []string{alerts.Work, "judge.0123456789abcdef"} {
		if mine, err := leases.Take(t.Context(), work); !mine || err != nil {
			t.Fatal(mine, err)
		}
	}
	findings := doctor.Examine(t.Context(), in)
	for part, want := range map[string]string{"alerts": "well: they are told by process 77 on host1", "judges": "well: standing comparisons are judged by process 77 on host1"} {
		if got := of(findings, part); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %q, want %q", part, got, want)
		}
	}
}
