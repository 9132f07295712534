package delivery

import (
	"slices"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/tensortap/tensortap/consumers/consumertest"
	"github.com/tensortap/tensortap/e2e/internal/program"
	"github.com/tensortap/tensortap/internal/dev/recorded"
	"github.com/tensortap/tensortap/schemas"
)

// mostMemoryUnderAttack is what `up` may ever have, its engine aside, whatever it is sent, as docs/security.md says.
const mostMemoryUnderAttack = 2 << 30

// One such message ended the system at each start, since the stream gave it again.
func TestHostileMessagesNeitherEndTheSystemNorTakeItsMemory(t *testing.T) {
	t.Parallel()
	u := program.StartUp(t, t.TempDir(), "--archive-age", "100ms")
	js := program.ConnectStream(t, u.Endpoint.NATS)
	sources := []published{{recorded.Unpack(t, "D_tp_golden"), "before"}, {recorded.Unpack(t, "D_tp_golden"), "after"}}
	u.Publish(t, sources[0].dir, sources[0].run)
	hostile := 0
	for i, kind := range []string{"tensor", "log", "layout"} {
		messages := consumertest.Hostile(t, kind, consumertest.Producer(uint64(70+i)))
		for _, m := range messages {
			send(t, js, m)
		}
		hostile += len(messages)
	}
	send(t, js, consumertest.Swollen(t, schemas.Identity{RunID: 0xaa, Epoch: 1})...)
	u.Publish(t, sources[1].dir, sources[1].run)
	awaitLetters(t, u, js, 2*hostile)
	requireMemory(t, u)

	if err := u.Kill(); err != nil {
		t.Fatal(err)
	}
	if out := program.Run(t, u.Setting, "replay"); out.Status != program.ExitSame {
		t.Errorf("replay: %v", out)
	}
	u = program.StartUp(t, u.Data, "--archive-age", "100ms")
	awaitLetters(t, u, program.ConnectStream(t, u.Endpoint.NATS), 2*hostile)
	letters := deadLetters(t, u)
	if len(letters) != 2*hostile || slices.ContainsFunc(letters, func(l letter) bool { return l.reason == "" }) {
		t.Errorf("%d dead letters, want %d, each with its reason", len(letters), 2*hostile)
	}
	healed(t, u, program.ExitSame, "nothing else is lost, nothing is damaged")
	requireMemory(t, u)
	if got := u.Query(t, "SELECT uniqExact(run), countIf(NOT complete) FROM tap.completeness WHERE run IN ('before', 'after')")[0]; !slices.Equal(got, []string{"2", "0"}) {
		t.Errorf("runs, ranks that are not complete: %v, want 2 and 0", got)
	}
	if got := u.Query(t, "SELECT uniqExact(stack_id) FROM tap_store.stack WHERE length(frames[1]) > 1000000")[0]; !slices.Equal(got, []string{"1"}) {
		t.Errorf("rows of long texts: %v, want 1", got)
	}
}

func send(tb testing.TB, js jetstream.JetStream, messages ...schemas.Message) {
	tb.Helper()
	for _, m := range messages {
		if _, err := js.PublishMsg(tb.Context(), &nats.Msg{Subject: m.Subject(), Header: m.NATSHeader(), Data: m.Data}); err != nil {
			tb.Fatalf("publish %s: %v", m.ID(), err)
		}
	}
}

func requireMemory(t *testing.T, u *program.Up) {
	t.Helper()
	most := program.MostMemory(t, u.Cmd.Process.Pid)
	t.Logf("up had %d MiB", most>>20)
	if most > mostMemoryUnderAttack {
		t.Errorf("up had %d MiB, want %d at most", most>>20, mostMemoryUnderAttack>>20)
	}
}
