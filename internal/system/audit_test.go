package system

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/tensortap/tensortap/internal/audit"
	"github.com/tensortap/tensortap/pipelines"
	"github.com/tensortap/tensortap/producers/agent"
	"github.com/tensortap/tensortap/schemas"
)

// streaming is a client of a server with the streams, of so many bytes.
func streaming(tb testing.TB, limit int64) *Client {
	tb.Helper()
	own, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, JetStream: true, StoreDir: tb.TempDir(), MaxPayload: 9 << 20, NoSigs: true, NoLog: true})
	if err != nil {
		tb.Fatal(err)
	}
	own.Start()
	tb.Cleanup(func() { own.Shutdown(); own.WaitForShutdown() })
	if !own.ReadyForConnections(time.Minute) {
		tb.Fatal("the server is not ready")
	}
	client, err := ConnectStream(Endpoint{NATS: "nats://alice:secret@" + strings.TrimPrefix(own.ClientURL(), "nats://")}, time.Now)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(client.Close)
	cfg := pipelines.DefaultConfig()
	cfg.Stream.MaxBytes, cfg.Stream.DeadMaxBytes, cfg.Publish.SpillDir = limit, 16<<20, tb.TempDir()
	if err := pipelines.Prepare(tb.Context(), client.stream, cfg); err != nil {
		tb.Fatal(err)
	}
	return client
}

// lines are the lines of audit in the stream.
func lines(tb testing.TB, c *Client) (all []schemas.AuditRow) {
	tb.Helper()
	for m, err := range pipelines.Kept(tb.Context(), c.stream, 0, 0) {
		if err != nil {
			tb.Fatal(err)
		}
		if m.Header.Kind != schemas.Audit().Kind() {
			continue
		}
		rows, err := schemas.DecodeRows[schemas.AuditRow](m)
		if err != nil || len(rows) != 1 {
			tb.Fatal(rows, err)
		}
		all = append(all, rows...)
	}
	return all
}

// said is a line without what is chance.
func said(row *schemas.AuditRow) string {
	return strings.TrimRight(fmt.Sprintf("%d %s %s %s %v %s %s", row.Ordinal, row.Deed, row.RunName, row.Target, row.Details, row.Result, row.Reason), " ")
}

func TestADeedHasALineBeforeItAndOneWithItsResult(t *testing.T) {
	t.Parallel()
	c := streaming(t, 64<<20)
	for _, result := range []error{nil, errors.New("it broke"), audit.Refuse(errors.New("it is pinned"))} {
		err := c.Audited(t.Context(), audit.Deed{Name: "delete", Run: "bad"}, func() error {
			if all := lines(t, c); all[len(all)-1].Ordinal != 0 || all[len(all)-1].Result != "" {
				t.Errorf("while the deed is done, the last line is %v", all)
			}
			return result
		})
		if !errors.Is(err, result) {
			t.Errorf("%v, want %v", err, result)
		}
	}
	all := lines(t, c)
	want := []string{"0 delete bad  map[]", "1 delete bad  map[] done", "0 delete bad  map[]", "1 delete bad  map[] failed it broke", "0 delete bad  map[]", "1 delete bad  map[] refused it is pinned"}
	if len(all) != len(want) {
		t.Fatalf("%d lines, want %d", len(all), len(want))
	}
	for i := range all {
		row := &all[i]
		if said(row) != want[i] || row.NatsUser != "alice" || row.SystemUser == "" || row.DeedID != all[i-i%2].DeedID || row.WrittenTimeNs == 0 {
			t.Errorf("line %d is %s of %+v, want %s", i, said(row), row, want[i])
		}
	}
}

// TestWhoIsStoppedWritesItsResult has the deed end with the process's context: its result is written all the same.
func TestWhoIsStoppedWritesItsResult(t *testing.T) {
	t.Parallel()
	c := streaming(t, 64<<20)
	ctx, stop := context.WithCancel(t.Context())
	_ = c.Audited(ctx, audit.Deed{Name: "delete", Run: "bad"}, func() error { stop(); return ctx.Err() })
	if all := lines(t, c); len(all) != 2 || all[1].Result != audit.Failed {
		t.Errorf("lines %+v", all)
	}
}

func TestProcessesThatAreAskedAreWrittenDown(t *testing.T) {
	t.Parallel()
	c := streaming(t, 64<<20)
	for rank := range uint32(2) {
		if _, err := pipelines.Admit(t.Context(), c.stream, pipelines.StartRequest{RunID: schemas.RunID("bad"), Rank: rank, Epoch: 1}); err != nil {
			t.Fatal(err)
		}
	}
	heard, err := c.stream.Conn().Subscribe("tensortap.control.*", func(m *nats.Msg) {
		if !strings.Contains(string(m.Data), `"by":"`) || !strings.Contains(string(m.Data), "user alice of NATS") || strings.Contains(string(m.Data), "secret") {
			t.Errorf("asked by %s", m.Data)
		}
		for rank, state := range []string{agent.StateRecording, agent.StateRefused} {
			_ = m.Respond([]byte(fmt.Sprintf(`{"state":%q,"sequence":9,"rank":%d,"reason":"busy"}`, state, rank)))
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	defer heard.Unsubscribe() //nolint:errcheck // the test ends
	request := agent.Request{Do: agent.DoCapture, Sequence: 9, Level: "mix", Steps: 2, Texts: []string{"my own prompt"}, When: "loss>10"}
	if _, err := c.Ask(t.Context(), "bad", request, time.Minute); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Ask(t.Context(), "nobody", agent.Request{Do: agent.DoDebug}, time.Minute); !errors.Is(err, ErrNobodyAsked) {
		t.Errorf("%v, want %v", err, ErrNobodyAsked)
	}
	var got []string
	for _, row := range lines(t, c) {
		got = append(got, said(&row))
	}
	want := []string{
		"0 capture bad  map[level:mix prompt_count:1 steps:2 when:loss>10]",
		"1 capture bad  map[level:mix prompt_count:1 steps:2 when:loss>10] partly of 2 ranks 1 refused and 0 did not answer in full",
		"0 debug nobody  map[]",
		"1 debug nobody  map[] failed ask run nobody to debug: no process of it lives: no run of that name was ever recorded live",
	}
	if !slices.Equal(got, want) {
		t.Errorf("lines\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestAFullStreamKeepsNoDeedFromBeingDone has a deed make room, which its lines then find.
func TestAFullStreamKeepsNoDeedFromBeingDone(t *testing.T) {
	t.Parallel()
	c := streaming(t, 9<<20)
	fill := make([]byte, 1<<20)
	for full := false; !full; {
		_, err := c.stream.PublishMsg(t.Context(), &nats.Msg{Subject: "tap.tensor.0123456789abcdef.0", Data: fill})
		if err == nil {
			continue
		}
		if refused := (*jetstream.APIError)(nil); !errors.As(err, &refused) {
			t.Fatal(err)
		}
		if full = len(fill) == 1; !full {
			fill = fill[:len(fill)/2]
		}
	}
	done := false
	err := c.Audited(t.Context(), audit.Deed{Name: "delete", Run: "bad"}, func() error {
		done = true
		stream, err := c.stream.Stream(t.Context(), pipelines.StreamName)
		if err != nil {
			return err
		}
		return stream.Purge(t.Context())
	})
	if err != nil || !done {
		t.Fatalf("done %v, %v", done, err)
	}
	if all := lines(t, c); len(all) != 2 || all[0].Ordinal != 0 || all[1].Result != audit.Done {
		t.Errorf("lines %+v", all)
	}
}

func TestWithoutAStreamNothingIsDone(t *testing.T) {
	t.Parallel()
	c := connected(t, 1<<20) // a server without JetStream
	err := c.Audited(t.Context(), audit.Deed{Name: "delete"}, func() error {
		t.Error("it is done")
		return nil
	})
	if err == nil || !strings.Contains(err.Error(), "delete was not done, as its line of audit could not be written") {
		t.Error(err)
	}
}
