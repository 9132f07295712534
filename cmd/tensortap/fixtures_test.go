package main

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/tensortap/tensortap/internal/recorded"
	"github.com/tensortap/tensortap/internal/testbed"
	"github.com/tensortap/tensortap/pipelines"
	"github.com/tensortap/tensortap/schemas"
)

// counted is what a dump of one rank and step holds: ops, tensors, other arguments, payloads, tensors with NaN.
type counted string

// place is a rank and step of a run.
type place struct{ run, step, rank string }

func TestEveryRecordedDumpArrivesWhole(t *testing.T) {
	t.Parallel()
	u := startUp(t, t.TempDir())
	dirs := unpackAll(t)
	for name, dir := range dirs {
		out := u.publish(t, dir, name)
		if out.stderr != "" || !strings.HasPrefix(out.stdout, "run "+name+": ") {
			t.Errorf("publish %s: %v", name, out)
		}
	}
	u.settle(t)
	// One after the other: each is about the state that the one before leaves.
	files := inFiles(t, dirs)
	compareCounts(t, stored(t, u), files)
	allComplete(t, u, dirs)
	notFiniteArrives(t, u, dirs)
	againChangesNothing(t, u, dirs)
	againWithoutClaims(t, u, dirs)
	againUnfinished(t, u, dirs)
	compareCounts(t, stored(t, u), files)
	restartChangesNothing(t, u)
}

// unpackAll extracts every recorded dump and returns its folder by name.
func unpackAll(tb testing.TB) map[string]string {
	tb.Helper()
	archives, err := filepath.Glob(filepath.Join(recorded.Dumps, "*.tar.gz"))
	if err != nil || len(archives) < 40 {
		tb.Fatalf("find recorded dumps: %d, %v", len(archives), err)
	}
	root := tb.TempDir()
	dirs := map[string]string{}
	for _, archive := range archives {
		name := strings.TrimSuffix(filepath.Base(archive), ".tar.gz")
		if err := recorded.Extract(archive, root); err != nil {
			tb.Fatalf("unpack %s: %v", name, err)
		}
		dirs[name] = filepath.Join(root, name, "dump")
	}
	return dirs
}

// inFiles counts with a reader that shares nothing with ours but the files.
func inFiles(tb testing.TB, dirs map[string]string) map[place]counted {
	tb.Helper()
	python, err := exec.LookPath("python3")
	if err != nil {
		testbed.Needed(tb, "no python3 to count the files with")
	}
	args := []string{filepath.Join(filepath.Dir(recorded.Dumps), "count_dump.py")}
	var places []place
	for name, dir := range dirs {
		files, err := filepath.Glob(filepath.Join(dir, "step*", "*", "dump.json"))
		if err != nil || len(files) == 0 {
			tb.Fatalf("find dumps of %s: %v", name, err)
		}
		for _, file := range files {
			args, places = append(args, file), append(places, placeOf(name, file))
		}
	}
	out, err := exec.CommandContext(tb.Context(), python, args...).Output()
	if err != nil {
		tb.Fatalf("count_dump.py: %v", err)
	}
	counts := map[place]counted{}
	for i, line := range strings.Split(strings.TrimSpace(string(out)), "\n") {
		counts[places[i]] = counted(line)
	}
	return counts
}

// placeOf reads step and rank off a path; a rank named by its process is the only one, so it is rank 0.
func placeOf(run, file string) place {
	rank := filepath.Base(filepath.Dir(file))
	if strings.HasPrefix(rank, "proc") {
		rank = "rank0"
	}
	step := filepath.Base(filepath.Dir(filepath.Dir(file)))
	return place{run, strings.TrimPrefix(step, "step"), strings.TrimPrefix(rank, "rank")}
}

// stored counts in the views.
func stored(tb testing.TB, u *upProcess) map[place]counted {
	tb.Helper()
	rows := u.query(tb, `
		WITH counts AS (
			SELECT run, run_id, step, rank, countIf(kind = 'tensor') AS tensors, countIf(kind != 'tensor') AS others,
				countIf(kind = 'tensor' AND (isNaN(value_max) OR isNaN(value_min) OR isNaN(value_mean) OR isNaN(value_l2))) AS nans
			FROM tap.tensors GROUP BY run, run_id, step, rank
		), kept AS (
			SELECT run_id, step, rank, count() AS payloads FROM tap.payloads GROUP BY run_id, step, rank
		)
		SELECT r.name, s.step, s.rank, if(c.tensors = 0, 0, s.op_count), c.tensors, c.others, k.payloads, c.nans, s.dropped_count, s.complete
		FROM tap.steps AS s
		LEFT JOIN tap.runs AS r ON r.run_id = s.run_id
		LEFT JOIN counts AS c ON c.run_id = s.run_id AND c.step = s.step AND c.rank = s.rank
		LEFT JOIN kept AS k ON k.run_id = s.run_id AND k.step = s.step AND k.rank = s.rank`)
	counts := map[place]counted{}
	for _, row := range rows {
		p := place{row[0], row[1], row[2]}
		counts[p] = counted(strings.Join(row[3:8], "\t"))
		if row[8] != "0" || row[9] != "1" {
			tb.Errorf("%v: dropped_count = %s, complete = %s, want 0 and 1", p, row[8], row[9])
		}
	}
	return counts
}

func compareCounts(t *testing.T, got, want map[place]counted) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%d ranks and steps are stored, want %d", len(got), len(want))
	}
	for p, w := range want {
		if got[p] != w {
			t.Errorf("%v: ops, tensors, others, payloads, NaN = %q, want %q", p, got[p], w)
		}
	}
}

func allComplete(t *testing.T, u *upProcess, dirs map[string]string) {
	t.Helper()
	for _, row := range u.query(t, "SELECT run, rank, explanation FROM tap.completeness WHERE NOT complete") {
		t.Errorf("completeness: %v", row)
	}
	if got := u.query(t, "SELECT uniqExact(run) FROM tap.completeness")[0][0]; got != fmt.Sprint(len(dirs)) {
		t.Errorf("completeness knows %s runs, want %d", got, len(dirs))
	}
	if undefined := u.query(t, "SELECT run_id, rank, count() FROM tap.undefined_ids GROUP BY ALL"); len(undefined) > 0 {
		t.Errorf("ids without a definition: %v", undefined)
	}
	const run = "D_ddp_golden"
	out := inside(t, u.setting, "report", "completeness", "--run", run, "--output", "csv")
	if lines := parseCSV(t, out.stdout); out.status != 0 || out.stderr != "" || len(lines) != 3 {
		t.Errorf("completeness of %s: %v, want a row for each of two ranks", run, out)
	}
}

func notFiniteArrives(t *testing.T, u *upProcess, dirs map[string]string) {
	t.Helper()
	got := map[string]int{}
	for _, row := range u.query(t, `
		SELECT run || ' ' || value.1 || ' ' || multiIf(isNaN(value.2), 'NaN', value.2 > 0, 'Infinity', '-Infinity'), count()
		FROM tap.tensors
		ARRAY JOIN [('Max', value_max), ('Min', value_min), ('Mean', value_mean), ('Norm', value_l2)] AS value
		WHERE kind = 'tensor' AND value.2 IS NOT NULL AND NOT isFinite(value.2) GROUP BY 1`) {
		got[row[0]] = number(t, row[1])
	}
	want := notFiniteInFiles(t, dirs)
	if !maps.Equal(got, want) {
		t.Errorf("not finite are %v, want %v", got, want)
	}
	if len(want) == 0 {
		t.Error("no recorded dump has a value that is not finite")
	}
}

// notFiniteInFiles counts the tokens that no other JSON has.
func notFiniteInFiles(tb testing.TB, dirs map[string]string) map[string]int {
	tb.Helper()
	token := regexp.MustCompile(`"(Max|Min|Mean|Norm)": (-?Infinity|NaN)`)
	counts := map[string]int{}
	for name, dir := range dirs {
		files, _ := filepath.Glob(filepath.Join(dir, "step*", "*", "dump.json"))
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				tb.Fatal(err)
			}
			for _, match := range token.FindAllStringSubmatch(string(text), -1) {
				counts[name+" "+match[1]+" "+match[2]]++
			}
		}
	}
	return counts
}

func number(tb testing.TB, text string) int {
	tb.Helper()
	var n int
	if _, err := fmt.Sscan(text, &n); err != nil {
		tb.Fatalf("read count %q: %v", text, err)
	}
	return n
}

// tableCounts is the rows of each table: of definitions each once, of measurements as they lie there.
func tableCounts(tb testing.TB, u *upProcess) map[string]string {
	tb.Helper()
	u.settle(tb)
	counts := map[string]string{}
	for _, table := range schemas.Tables() {
		final := ""
		if table.Class == schemas.Definition {
			final = " FINAL"
		}
		counts[table.Kind()] = u.query(tb, "SELECT count() FROM tap_store."+table.Kind()+final)[0][0]
	}
	return counts
}

func againChangesNothing(t *testing.T, u *upProcess, dirs map[string]string) {
	t.Helper()
	before := tableCounts(t, u)
	at := u.setting
	at.dir = dirs["D_tp_rank1_nan"]
	if out := process(t, at, "publish", "msprobe", ".", "--run", "D_tp_rank1_nan"); out.status != 0 || !publishedNothing(out) {
		t.Errorf("publish again from another working folder: %v", out)
	}
	for name, dir := range dirs {
		out := inside(t, u.setting, "publish", "msprobe", dir, "--run", name)
		if out.status != 0 || !publishedNothing(out) {
			t.Errorf("publish %s again: %v", name, out)
		}
	}
	if after := tableCounts(t, u); !maps.Equal(after, before) {
		t.Errorf("rows by table: %v, before %v", after, before)
	}
}

// publishedNothing says whether a publisher reports that all was there before.
func publishedNothing(out outcome) bool {
	return strings.Contains(out.stdout, " published before, nothing changes\n") && strings.Count(out.stdout, "\n") == 1 && out.stderr == ""
}

// againWithoutClaims publishes copies from another folder, of another time, when neither the bucket of sources nor the
// stream remembers them.
func againWithoutClaims(t *testing.T, u *upProcess, dirs map[string]string) {
	t.Helper()
	before, messages := tableCounts(t, u), forget(t, u)
	for name, dir := range dirs {
		twin := filepath.Join(t.TempDir(), "elsewhere")
		if err := os.CopyFS(twin, os.DirFS(dir)); err != nil {
			t.Fatal(err)
		}
		touch(t, twin, time.Date(2020, 2, 29, 23, 59, 59, 0, time.UTC))
		out := u.publish(t, twin, name)
		if strings.Contains(out.stdout, "published before") {
			t.Errorf("publish %s: %v, want it published once more", name, out)
		}
	}
	if now := streamMessages(t, u); now < messages+uint64(len(dirs)) {
		t.Errorf("the stream has %d messages, before %d: nothing was published once more", now, messages)
	}
	if after := tableCounts(t, u); !maps.Equal(after, before) {
		t.Errorf("rows by table: %v, before %v", after, before)
	}
}

// againUnfinished publishes dumps whose publisher was gone before it noted that all was there.
func againUnfinished(t *testing.T, u *upProcess, dirs map[string]string) {
	t.Helper()
	before := tableCounts(t, u)
	bucket, err := jetStream(t, u).KeyValue(t.Context(), pipelines.SourceBucket)
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
		if out := u.publish(t, dirs[name], name); strings.Contains(out.stdout, "published before") {
			t.Errorf("publish %s: %v, want it published once more", name, out)
		}
		if out := u.publish(t, dirs[name], name); !publishedNothing(out) {
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

// jetStream is the stream of a system.
func jetStream(tb testing.TB, u *upProcess) jetstream.JetStream {
	tb.Helper()
	conn, err := nats.Connect(u.endpoint.NATS)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(conn.Close)
	js, err := jetstream.New(conn)
	if err != nil {
		tb.Fatal(err)
	}
	return js
}

// forget empties the bucket of sources and lets the stream's memory of message ids pass. It returns how many messages the stream holds.
func forget(tb testing.TB, u *upProcess) uint64 {
	tb.Helper()
	js := jetStream(tb, u)
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
	stream, err := js.Stream(tb.Context(), pipelines.StreamName)
	if err != nil {
		tb.Fatal(err)
	}
	info := stream.CachedInfo()
	short := info.Config
	short.Duplicates = 100 * time.Millisecond
	if _, err := js.UpdateStream(tb.Context(), short); err != nil {
		tb.Fatal(err)
	}
	time.Sleep(300 * time.Millisecond)
	return info.State.Msgs
}

func streamMessages(tb testing.TB, u *upProcess) uint64 {
	tb.Helper()
	stream, err := jetStream(tb, u).Stream(tb.Context(), pipelines.StreamName)
	if err != nil {
		tb.Fatal(err)
	}
	return stream.CachedInfo().State.Msgs
}

// restartChangesNothing also shows that a system with all dumps in it stops and starts.
func restartChangesNothing(t *testing.T, u *upProcess) {
	t.Helper()
	before := tableCounts(t, u)
	if err := u.stop(); err != nil {
		t.Fatal(err)
	}
	if after := tableCounts(t, startUp(t, u.data)); !maps.Equal(after, before) {
		t.Errorf("rows by table: %v, before %v", after, before)
	}
}

// altered copies a dump and changes one number of one rank and step.
func altered(tb testing.TB, dir, part string) string {
	tb.Helper()
	twin := filepath.Join(tb.TempDir(), "altered")
	if err := os.CopyFS(twin, os.DirFS(dir)); err != nil {
		tb.Fatal(err)
	}
	path := filepath.Join(twin, part, "dump.json")
	text, err := os.ReadFile(path)
	if err != nil {
		tb.Fatal(err)
	}
	at := regexp.MustCompile(`"Max": [-0-9.e]+`).FindIndex(text)
	if at == nil {
		tb.Fatalf("%s has no maximum to change", path)
	}
	changed := slices.Concat(text[:at[0]], []byte(`"Max": 123.5`), text[at[1]:])
	if err := os.WriteFile(path, changed, 0o600); err != nil {
		tb.Fatal(err)
	}
	return twin
}

func TestOtherContentIsRefusedUnlessItReplaces(t *testing.T) {
	t.Parallel()
	u := shared(t)
	const run = "other content"
	dir := recorded.Unpack(t, "D_ddp_golden")
	other := altered(t, dir, "step0/rank1")
	u.publish(t, dir, run)
	u.settle(t)
	const rows = "SELECT count(), countIf(value_max = 123.5), uniqExact(epoch), count(DISTINCT rank) FROM tap.tensors WHERE run = '" + run + "'"
	before := u.query(t, rows)

	refused := inside(t, u.setting, "publish", "msprobe", other, "--run", run)
	for _, part := range []string{"step 0", "rank 1", filepath.Join(other, "step0", "rank1"), "--replace"} {
		if refused.status != 2 || !strings.Contains(refused.stderr, part) {
			t.Errorf("publish other content: %v, want status 2 and an error with %q", refused, part)
		}
	}
	u.settle(t)
	if got := u.query(t, rows); fmt.Sprint(got) != fmt.Sprint(before) {
		t.Errorf("after a refusal: %v, want %v", got, before)
	}

	u.publish(t, other, run, "--replace")
	u.settle(t)
	if got, want := u.query(t, rows)[0], []string{before[0][0], "1", before[0][2], before[0][3]}; !slices.Equal(got, want) {
		t.Errorf("the view has rows, changed, epochs, ranks %v, want %v", got, want)
	}
	kept := u.query(t, "SELECT count() FROM tap_store.tensor WHERE run_id = xxh3('"+run+"' || char(31))")[0][0]
	if number(t, kept) <= number(t, before[0][0]) {
		t.Errorf("the table has %s rows, want those of both contents: more than %s", kept, before[0][0])
	}
	report := inside(t, u.setting, "report", "completeness", "--run", run)
	if report.status != 0 || strings.Contains(report.stderr, "INCOMPLETE") {
		t.Errorf("completeness after --replace: %v", report)
	}
	// And back: the first content is other content now, and comes again.
	u.publish(t, dir, run, "--replace")
	u.settle(t)
	if got := u.query(t, rows)[0]; got[0] != before[0][0] || got[1] != "0" {
		t.Errorf("back to the first content: %v, want %v", got, before[0])
	}
}
