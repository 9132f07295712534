package roles

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/tensortap/tensortap/consumers/parquet"
	"github.com/tensortap/tensortap/e2e/internal/program"
	"github.com/tensortap/tensortap/pipelines"
	"github.com/tensortap/tensortap/schemas"
)

// publishOld publishes a run of some days ago.
func (f *fleet) publishOld(t *testing.T) {
	t.Helper()
	id := schemas.Identity{RunID: schemas.RunID("old"), Epoch: 1}
	run, steps := schemas.NewBuilder[schemas.RunRow](), schemas.NewBuilder[schemas.StepRow]()
	ago := time.Now().Add(-100 * time.Hour).UnixNano()
	run.Append(&schemas.RunRow{RunID: id.RunID, Epoch: id.Epoch, Name: "old", FirstEventTimeNs: ago})
	steps.Append(&schemas.StepRow{RunID: id.RunID, Epoch: id.Epoch, EventTimeNs: ago})
	for _, message := range []func(schemas.Identity) (schemas.Message, error){run.Message, steps.Message} {
		m, err := message(id)
		if err != nil {
			t.Fatal(err)
		}
		f.publish(t, m)
	}
}

func (f *fleet) publish(t *testing.T, m schemas.Message) { //nolint:gocritic // a message is published once
	t.Helper()
	if _, err := f.js.PublishMsg(t.Context(), &nats.Msg{Subject: m.Subject(), Header: m.NATSHeader(), Data: m.Data}); err != nil {
		t.Fatal(err)
	}
}

// noRows asks whether the tables have no step of a run.
func noRows(run string) string {
	return fmt.Sprintf("SELECT count() = 0 FROM tap_store.step WHERE run_id = %d", schemas.RunID(run))
}

// archived is how many rows an archive has of a run.
func archived(t *testing.T, data, run string) (rows uint64) {
	t.Helper()
	shares, err := parquet.Shares(filepath.Join(data, "archive"))
	if err != nil {
		t.Fatal(err)
	}
	for _, share := range shares {
		if share.RunID == schemas.RunID(run) {
			rows += share.Rows
		}
	}
	return rows
}

// requireDeletion deletes the load, and kills a consumer as that is decided. The archive in the data folder is filled by nobody.
func requireDeletion(t *testing.T, f *fleet, e *engine, data string, victim *program.Up) {
	t.Helper()
	says := func(status int, words string, args ...string) {
		t.Helper()
		out := program.Run(t, program.Setting{Data: data}, append(args, f.servers(e)...)...)
		if out.Status != status || !strings.Contains(out.Stdout+out.Stderr, words) {
			t.Errorf("%v: %v; want %d and %q", args, out, status, words)
		}
	}
	decided := make(chan struct{})
	go f.awaitDecision(t, decided)
	go func() {
		<-decided
		_ = victim.Kill()
	}()
	says(program.ExitError, "nobody fills the archive parquet-", "runs", "delete", "load", "--yes")
	e.await(t, "the run to be gone from the tables", noRows("load"))
	archive := start(t, data, "stores events", append([]string{"consume", "--store", "archive", "--archive-age", "100ms"}, f.servers(e)[:2]...)...)
	says(0, "run load ", "runs", "delete", "load", "--yes") // waits until it is gone, too
	f.comesLate(t, e, data)
	says(0, "nothing is lost, nothing is damaged", "verify")
	says(program.ExitError, "only `tensortap up` mends its stores", "verify", "--heal")
	says(program.ExitError, "are stored by `tensortap consume`", "replay")
	if err := archive.Stop(); err != nil {
		t.Error(err)
	}
}

// awaitDecision closes the channel as the deletion of the load is decided.
func (f *fleet) awaitDecision(t *testing.T, decided chan struct{}) {
	t.Helper()
	defer close(decided)
	fates, err := f.js.KeyValue(t.Context(), pipelines.FateBucket)
	if err != nil {
		t.Error(err)
		return
	}
	watcher, err := fates.Watch(t.Context(), schemas.FormatID(schemas.RunID("load")), jetstream.UpdatesOnly())
	if err != nil {
		t.Error(err)
		return
	}
	<-watcher.Updates()
}

// comesLate publishes what came late of the load for each shard, and waits until all consumers have refused it.
func (f *fleet) comesLate(t *testing.T, e *engine, data string) {
	t.Helper()
	for rank := range uint32(ranks) {
		m, err := stepsOf(schemas.Identity{RunID: schemas.RunID("load"), Rank: rank, Epoch: 1, Batch: 1 << 40})
		if err != nil {
			t.Fatal(err)
		}
		f.publish(t, m)
	}
	storers, err := pipelines.Storers(t.Context(), f.js)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range storers {
		if err := pipelines.WaitStored(t.Context(), f.js, 0, 50*time.Millisecond, s.Name); err != nil {
			t.Fatal(err)
		}
	}
	e.await(t, "late batches to stay out", noRows("load"))
	if rows := archived(t, data, "load"); rows > 0 {
		t.Errorf("the archive has %d rows of the deleted run", rows)
	}
}
