package delivery

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/tensortap/tensortap/e2e/internal/program"
	"github.com/tensortap/tensortap/internal/dev/recorded"
	"github.com/tensortap/tensortap/pipelines"
	"github.com/tensortap/tensortap/schemas"
)

// tableCounts is the rows of each table: of definitions each once, of measurements as they lie there.
func tableCounts(tb testing.TB, u *program.Up) map[string]string {
	tb.Helper()
	u.Settle(tb)
	counts := map[string]string{}
	for _, table := range schemas.Tables() {
		final := ""
		if table.Class == schemas.Definition {
			final = " FINAL"
		}
		counts[table.Kind()] = u.Query(tb, "SELECT count() FROM tap_store."+table.Kind()+final)[0][0]
	}
	return counts
}

func againChangesNothing(t *testing.T, u *program.Up, dirs map[string]string) {
	t.Helper()
	before := tableCounts(t, u)
	at := u.Setting
	at.Dir = dirs["D_tp_rank1_nan"]
	if out := program.Run(t, at, "publish", "msprobe", ".", "--run", "D_tp_rank1_nan"); out.Status != 0 || !publishedNothing(out) {
		t.Errorf("publish again from another working folder: %v", out)
	}
	for name, dir := range dirs {
		out := program.Run(t, u.Setting, "publish", "msprobe", dir, "--run", name)
		if out.Status != 0 || !publishedNothing(out) {
			t.Errorf("publish %s again: %v", name, out)
		}
	}
	if after := tableCounts(t, u); !maps.Equal(after, before) {
		t.Errorf("rows by table: %v, before %v", after, before)
	}
}

// publishedNothing says whether a publisher reports that all was there before.
func publishedNothing(out program.Outcome) bool {
	return strings.Contains(out.Stdout, " published before, nothing changes\n") && strings.Count(out.Stdout, "\n") == 1 && out.Stderr == ""
}

// againWithoutClaims publishes copies from another folder, of another time, when neither the bucket of sources nor the
// stream remembers them.
func againWithoutClaims(t *testing.T, u *program.Up, dirs map[string]string) {
	t.Helper()
	before, messages := tableCounts(t, u), forget(t, u)
	for name, dir := range dirs {
		twin := filepath.Join(t.TempDir(), "elsewhere")
		if err := os.CopyFS(twin, os.DirFS(dir)); err != nil {
			t.Fatal(err)
		}
		touch(t, twin, time.Date(2020, 2, 29, 23, 59, 59, 0, time.UTC))
		out := u.Publish(t, twin, name)
		if strings.Contains(out.Stdout, "published before") {
			t.Errorf("publish %s: %v, want it published once more", name, out)
		}
	}
	before["run"] = strconv.Itoa(2 * len(dirs)) // as the times of the copies' files are others
	if now := streamMessages(t, u); now < messages+uint64(len(dirs)) {
		t.Errorf("the stream has %d messages, before %d: nothing was published once more", now, messages)
	}
	if after := tableCounts(t, u); !maps.Equal(after, before) {
		t.Errorf("rows by table: %v, before %v", after, before)
	}
}

// againUnfinished publishes dumps whose publisher was gone before it noted that all was there.
func againUnfinished(t *testing.T, u *program.Up, dirs map[string]string) {
	t.Helper()
	before := tableCounts(t, u)
	bucket, err := program.ConnectStream(t, u.Endpoint.NATS).KeyValue(t.Context(), pipelines.SourceBucket)
	if err != nil {
		t.Fatal(err)
	}
	keys, err := bucket.Keys(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range keys {
		entry, err := bucket.Get(t.Context(), key)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := bucket.Put(t.Context(), key, bytes.Replace(entry.Value(), []byte(`"done":true`), []byte(`"done":false`), 1)); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"D_tp_rank1_nan", "B14_nan_l2_mlp_step1_mix", "A_llama_mix_structure"} {
		if out := u.Publish(t, dirs[name], name); strings.Contains(out.Stdout, "published before") {
			t.Errorf("publish %s: %v, want it published once more", name, out)
		}
		if out := u.Publish(t, dirs[name], name); !publishedNothing(out) {
			t.Errorf("publish %s again: %v", name, out)
		}
	}
	if after := tableCounts(t, u); !maps.Equal(after, before) {
		t.Errorf("rows by table: %v, before %v", after, before)
	}
}

// touch gives all files below dir one time.
func touch(tb testing.TB, dir string, at time.Time) {
	tb.Helper()
	err := filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Chtimes(path, at, at)
	})
	if err != nil {
		tb.Fatal(err)
	}
}

// forget empties the bucket of sources, and forgets ids.
func forget(tb testing.TB, u *program.Up) uint64 {
	tb.Helper()
	forgetClaims(tb, u)
	return forgetIDs(tb, u)
}

// forgetClaims empties the bucket of sources.
func forgetClaims(tb testing.TB, u *program.Up) {
	tb.Helper()
	js := program.ConnectStream(tb, u.Endpoint.NATS)
	bucket, err := js.KeyValue(tb.Context(), pipelines.SourceBucket)
	if err != nil {
		tb.Fatal(err)
	}
	keys, err := bucket.Keys(tb.Context())
	if err != nil {
		tb.Fatal(err)
	}
	for _, key := range keys {
		if err := bucket.Purge(tb.Context(), key); err != nil {
			tb.Fatal(err)
		}
	}
}

// forgetIDs lets the stream's memory of message ids pass. It returns how many messages the stream holds.
func forgetIDs(tb testing.TB, u *program.Up) uint64 {
	tb.Helper()
	js := program.ConnectStream(tb, u.Endpoint.NATS)
	stream, err := js.Stream(tb.Context(), pipelines.StreamName)
	if err != nil {
		tb.Fatal(err)
	}
	forgets(tb, js)
	time.Sleep(3 * forgotten)
	return stream.CachedInfo().State.Msgs
}

func streamMessages(tb testing.TB, u *program.Up) uint64 {
	tb.Helper()
	stream, err := program.ConnectStream(tb, u.Endpoint.NATS).Stream(tb.Context(), pipelines.StreamName)
	if err != nil {
		tb.Fatal(err)
	}
	return stream.CachedInfo().State.Msgs
}

// restartChangesNothing also shows that a system with all dumps in it stops and starts.
func restartChangesNothing(t *testing.T, u *program.Up) {
	t.Helper()
	before := tableCounts(t, u)
	if err := u.Stop(); err != nil {
		t.Fatal(err)
	}
	if after := tableCounts(t, program.StartUp(t, u.Data)); !maps.Equal(after, before) {
		t.Errorf("rows by table: %v, before %v", after, before)
	}
}

func TestOtherContentIsRefusedUnlessItReplaces(t *testing.T) {
	t.Parallel()
	u := program.Shared(t)
	const run = "other content"
	dir := recorded.Unpack(t, "D_ddp_golden")
	other := program.Altered(t, dir, "step0/rank1")
	u.Publish(t, dir, run)
	u.Settle(t)
	const rows = "SELECT count(), countIf(value_max = 123.5), uniqExact(epoch), count(DISTINCT rank) FROM tap.tensors WHERE run = '" + run + "'"
	before := u.Query(t, rows)

	refused := program.Run(t, u.Setting, "publish", "msprobe", other, "--run", run)
	for _, part := range []string{"step 0", "rank 1", filepath.Join(other, "step0", "rank1"), "--replace"} {
		if refused.Status != 2 || !strings.Contains(refused.Stderr, part) {
			t.Errorf("publish other content: %v, want status 2 and an error with %q", refused, part)
		}
	}
	u.Settle(t)
	if got := u.Query(t, rows); fmt.Sprint(got) != fmt.Sprint(before) {
		t.Errorf("after a refusal: %v, want %v", got, before)
	}

	u.Publish(t, other, run, "--replace")
	u.Settle(t)
	if got, want := u.Query(t, rows)[0], []string{before[0][0], "1", before[0][2], before[0][3]}; !slices.Equal(got, want) {
		t.Errorf("the view has rows, changed, epochs, ranks %v, want %v", got, want)
	}
	kept := u.Query(t, "SELECT count() FROM tap_store.tensor WHERE run_id = xxh3('"+run+"' || char(31))")[0][0]
	if program.Number(t, kept) <= program.Number(t, before[0][0]) {
		t.Errorf("the table has %s rows, want those of both contents: more than %s", kept, before[0][0])
	}
	report := program.Run(t, u.Setting, "report", "completeness", "--run", run)
	if report.Status != 0 || strings.Contains(report.Stderr, "INCOMPLETE") {
		t.Errorf("completeness after --replace: %v", report)
	}
	// And back: the first content is other content now, and comes again.
	u.Publish(t, dir, run, "--replace")
	u.Settle(t)
	if got := u.Query(t, rows)[0]; got[0] != before[0][0] || got[1] != "0" {
		t.Errorf("back to the first content: %v, want %v", got, before[0])
	}
}
