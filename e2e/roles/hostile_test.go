package roles

import (
	"fmt"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/tensortap/tensortap/consumers/consumertest"
	"github.com/tensortap/tensortap/e2e/internal/program"
	"github.com/tensortap/tensortap/schemas"
)

// mostOfConsume is what a `consume` may ever have, whatever it is sent, as docs/OPERATIONS.md says.
const mostOfConsume = 2 << 30

// TestConsumersKeepTheirMemoryWhateverIsSent kills both in the midst, so that the stream gives again what they had.
func TestConsumersKeepTheirMemoryWhateverIsSent(t *testing.T) {
	t.Parallel()
	s := startServers(t)
	tables := s.employ("tables", "stores events", "consume", "--store", "tables", "--clickhouse", s.engine.DSN)
	archive := s.employ("archive", "stores events", "consume", "--store", "archive", "--archive-age", "100ms")
	js := program.ConnectStream(t, s.nats.URL())
	var hostile, good []schemas.Message
	for i := range uint64(4) { // in different shards
		for _, m := range consumertest.Hostile(t, "log", consumertest.Producer(i)) {
			hostile = append(hostile, m)
		}
		id := consumertest.Producer(i)
		good = append(good, consumertest.Batches(t, "step", id, 1, 10)[0].Message)
		good = append(good, consumertest.Swollen(t, id)...)
	}
	for i, m := range append(hostile, good...) {
		if _, err := js.PublishMsg(t.Context(), &nats.Msg{Subject: m.Subject(), Header: m.NATSHeader(), Data: m.Data}); err != nil {
			t.Fatalf("publish %s: %v", m.ID(), err)
		}
		if i == len(hostile) {
			for _, r := range []*role{tables, archive} {
				r.end()
				r.begin()
			}
		}
	}
	e := &engine{s.engine.DSN, s.engine.Open(t)}
	e.await(t, "the steps", "SELECT count() = 40 FROM tap_store.step")
	e.await(t, "the long texts", "SELECT uniqExact(layout_id) >= 15 FROM tap_store.layout WHERE length(dtype) > 1000000")
	for r, origin := range map[*role]string{tables: "NOT LIKE 'parquet%'", archive: "LIKE 'parquet%'"} {
		e.await(t, "the dead letters of "+r.name, fmt.Sprintf("SELECT uniqExact(stream_seq) = %d FROM tap_store.dead_letter WHERE origin %s", len(hostile), origin))
		most := program.MostMemory(t, r.up.Cmd.Process.Pid)
		t.Logf("%s had %d MiB", r.name, most>>20)
		if most > mostOfConsume {
			t.Errorf("%s had %d MiB, want %d at most", r.name, most>>20, mostOfConsume>>20)
		}
	}
}
