package roles

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/tensortap/tensortap/e2e/internal/program"
	"github.com/tensortap/tensortap/internal/dev/natscluster"
	"github.com/tensortap/tensortap/internal/dev/recorded"
	"github.com/tensortap/tensortap/internal/dev/soak"
	"github.com/tensortap/tensortap/pipelines"
	"github.com/tensortap/tensortap/schemas"
)

// TestAStreamOfThreeServersLosesTheOneThatLeads kills it while a run is deleted and while an archive is restored: each command ends
// and has done what it says. Deleting may end with status 2, where the answer to its decision was lost, and is asked again.
func TestAStreamOfThreeServersLosesTheOneThatLeads(t *testing.T) {
	t.Parallel()
	soak.Only(t) // elections take minutes on a busy machine
	f := &fleet{Cluster: natscluster.Start(t)}
	f.js = program.ConnectStream(t, strings.Join(f.URL[1:], ","))
	u := f.system(t, t.TempDir())
	f.replicate(t)
	published := time.Now()
	for i, dump := range []string{recorded.Unpack(t, "A_llama_mix_statistics"), recorded.Unpack(t, "D_tp_golden"), recorded.Unpack(t, "A_llama_mix_statistics")} {
		u.Publish(t, dump, fmt.Sprint("run", i))
	}
	u.Settle(t)
	before := tensorsOf(t, u)
	delete(before, fmt.Sprint(schemas.RunID("run0")))

	asked := f.whileLeaderDies(t, u.Setting, f.decided(t, "run0"), "runs", "delete", "run0", "--yes")
	if asked.Status != 0 { // nobody could say that it was decided: asked again, it is
		await(t, "the run to be gone", func() bool { return program.Run(t, u.Setting, "runs", "delete", "run0", "--yes").Status == 0 })
	}
	requireWhole(t, u, before)
	if err := u.Stop(); err != nil {
		t.Fatal(err)
	}

	kept, err := f.js.Stream(t.Context(), pipelines.StreamName)
	if err == nil {
		err = kept.Purge(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	fresh := program.Setting{Data: t.TempDir(), Env: u.Env}
	restore := []string{"restore", "--from", filepath.Join(u.Data, "archive")}
	// The server knows the ids for so long, and has nothing.
	if out := program.Run(t, fresh, restore...); out.Status != program.ExitError && time.Since(published) < kept.CachedInfo().Config.Duplicates {
		t.Errorf("restore into a stream that was emptied: %v", out)
	}
	cfg := kept.CachedInfo().Config
	if err := f.js.DeleteStream(t.Context(), cfg.Name); err != nil {
		t.Fatal(err)
	}
	if _, err := f.js.CreateStream(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	if out := f.whileLeaderDies(t, fresh, f.begun(t), restore...); out.Status != 0 {
		t.Errorf("restore: %v", out)
	}
	requireWhole(t, f.system(t, fresh.Data), before)
}

// system starts one whose stream is the fleet's.
func (f *fleet) system(tb testing.TB, data string) *program.Up {
	tb.Helper()
	from := program.Setting{Data: data, Env: []string{"TENSORTAP_NATS=" + strings.Join(f.URL[:], ",")}}
	u := program.NewUp(data, program.Command(tb, from, "up", "--archive-age", "100ms"))
	u.Env = from.Env
	if err := u.Start(); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = u.Kill() })
	return u
}

// replicate has each server keep all streams and buckets, as their administrator does.
func (f *fleet) replicate(tb testing.TB) {
	tb.Helper()
	list := f.js.ListStreams(tb.Context())
	for info := range list.Info() {
		info.Config.Replicas = natscluster.Nodes
		if _, err := f.js.UpdateStream(tb.Context(), info.Config); err != nil {
			tb.Fatal(err)
		}
	}
	if err := list.Err(); err != nil {
		tb.Fatal(err)
	}
}

// decided waits, once it is called, until a run is to be deleted.
func (f *fleet) decided(tb testing.TB, run string) func() {
	tb.Helper()
	fates, err := f.js.KeyValue(tb.Context(), pipelines.FateBucket)
	if err != nil {
		tb.Fatal(err)
	}
	watcher, err := fates.Watch(tb.Context(), schemas.FormatID(schemas.RunID(run)), jetstream.UpdatesOnly())
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = watcher.Stop() })
	return func() {
		select {
		case <-watcher.Updates():
		case <-time.After(program.Patience):
			tb.Errorf("run %s: nothing was decided within %v", run, program.Patience)
		}
	}
}

// begun waits, once it is called, until the stream has something.
func (f *fleet) begun(tb testing.TB) func() {
	tb.Helper()
	return func() {
		await(tb, "a message in the stream", func() bool {
			kept, err := f.js.Stream(tb.Context(), pipelines.StreamName)
			return err == nil && kept.CachedInfo().State.Msgs > 0
		})
	}
}

// whileLeaderDies runs a command, kills the server that leads the stream once it is so far, and starts that again once the command has ended.
func (f *fleet) whileLeaderDies(tb testing.TB, s program.Setting, soFar func(), args ...string) program.Outcome {
	tb.Helper()
	f.whole(tb)
	n := f.Nodes[f.leader(tb)]
	ended := make(chan program.Outcome, 1)
	go func() { ended <- program.Run(tb, s, args...) }()
	soFar()
	n.End(tb, os.Kill)
	began := time.Now()
	out := <-ended
	tb.Logf("%v after the leader's end: %v", time.Since(began), out)
	n.Start(tb)
	f.whole(tb)
	return out
}

// tensorsOf are how many tensors the tables have of each run, by its id.
func tensorsOf(tb testing.TB, u *program.Up) map[string]string {
	tb.Helper()
	all := map[string]string{}
	for _, row := range u.Query(tb, "SELECT toString(run_id), count() FROM tap_store.tensor GROUP BY run_id") {
		all[row[0]] = row[1]
	}
	return all
}

// requireWhole checks that the tables have these tensors, and that stream, tables and archive agree.
func requireWhole(t *testing.T, u *program.Up, want map[string]string) {
	t.Helper()
	if got := tensorsOf(t, u); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("tensors of runs: %v, want %v", got, want)
	}
	var out program.Outcome
	await(t, "verify to be answered", func() bool { // a consumer may have nobody that leads yet
		out = program.Run(t, u.Setting, "verify")
		return out.Status != program.ExitError
	})
	if out.Status != 0 {
		t.Errorf("verify: %v\nup: %s", out, u.Stderr)
	}
}
