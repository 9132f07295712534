package delivery

import (
	"fmt"
	"math/rand/v2"
	"net"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/tensortap/tensortap/e2e/internal/program"
	"github.com/tensortap/tensortap/internal/dev/recorded"
)

// judgedRuns are recordings on two ranks that are held against the first.
var judgedRuns = []string{"D_ddp_golden", "D_ddp_rank1_weight"} //nolint:gochecknoglobals // names

// judged is a system whose runs are held against baselines as they land.
type judged struct {
	*program.Up
	data  string
	other *program.Up // a judge beside the one in up
	bases int
}

// TestVerdictsAreStoredOnceWhicheverJudgeIsKilled kills judges, whole systems and engines while comparisons are judged:
// what is stored equals what an undisturbed system stores.
func TestVerdictsAreStoredOnceWhicheverJudgeIsKilled(t *testing.T) {
	t.Parallel()
	kills := soakKills(t, 3)
	dumps := unpackJudged(t)
	calm := startJudged(t, dumps)
	for range kills {
		calm.setBaseline(t)
	}
	want := calm.settled(t)
	if err := calm.Kill(); err != nil {
		t.Fatal(err)
	}
	shaken := startJudged(t, dumps)
	random := rand.New(rand.NewPCG(uint64(kills), 7)) //nolint:gosec // moments of kills
	for i := range kills {
		shaken.setBaseline(t)
		time.Sleep(time.Duration(random.IntN(700)) * time.Millisecond)
		shaken.kill(t, i)
	}
	got := shaken.settled(t)
	if !slices.Equal(got, want) {
		t.Errorf("after %d kills %d rows, undisturbed %d; the first that differ:\n%s", kills, len(got), len(want), firstUnlike(got, want))
	}
	if rebuilt := shaken.rebuilt(t); !slices.Equal(rebuilt, want) {
		t.Errorf("built again of the stream %d rows, undisturbed %d; the first that differ:\n%s", len(rebuilt), len(want), firstUnlike(rebuilt, want))
	}
}

// rebuilt are the rows once the tables were filled again from the stream.
func (j *judged) rebuilt(t *testing.T) []string {
	t.Helper()
	_ = j.other.Kill()
	if err := j.Stop(); err != nil {
		t.Fatal(err)
	}
	if out := program.Run(t, j.Setting, "replay", "--rebuild"); out.Status != 0 {
		t.Fatalf("build the tables again: %v", out)
	}
	j.Up = program.StartUp(t, j.data)
	return j.settled(t)
}

func unpackJudged(t *testing.T) map[string]string {
	t.Helper()
	dir := t.TempDir()
	dumps := map[string]string{}
	for _, name := range judgedRuns {
		if err := recorded.Extract(filepath.Join(recorded.Dumps(), name+".tar.gz"), dir); err != nil {
			t.Fatal(err)
		}
		dumps[name] = filepath.Join(dir, name, "dump")
	}
	return dumps
}

func startJudged(t *testing.T, dumps map[string]string) *judged {
	t.Helper()
	j := &judged{data: t.TempDir()}
	j.Up = program.StartUp(t, j.data)
	for _, name := range judgedRuns {
		for copied := range 4 {
			j.Publish(t, dumps[name], fmt.Sprint(name, " ", copied))
		}
	}
	j.startOther(t)
	return j
}

func (j *judged) startOther(t *testing.T) {
	t.Helper()
	j.other = program.NewUp(j.data, program.Command(t, program.Setting{Data: j.data}, "judge"))
	if err := j.other.Begin(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = j.other.Kill() })
}

// setBaseline asks for a comparison more of each run.
func (j *judged) setBaseline(t *testing.T) {
	t.Helper()
	j.bases++
	tolerance := strconv.FormatFloat(float64(j.bases)*1e-4, 'g', -1, 64)
	var out program.Outcome
	err := program.Await(time.Minute, "a baseline that is set", func() bool { // the engine may be restarting
		out = program.Run(t, j.Setting, "baseline", "set", fmt.Sprint("golden ", j.bases), "--run", judgedRuns[0]+" 0", "--tolerance", tolerance)
		return out.Status == 0
	})
	if err != nil {
		t.Fatalf("%v: %v", err, out)
	}
}

// kill kills the judge beside up, the engine, or all of up, by turns.
func (j *judged) kill(t *testing.T, turn int) {
	t.Helper()
	var err error
	switch turn % 3 {
	case 0:
		err = j.other.Kill()
		j.startOther(t)
	case 1:
		_, err = killEngineOf(j.Up)
	default:
		err = j.Kill()
		occupy(t, []string{j.Endpoint.ClickHouse, j.Endpoint.NATS}[turn/3%2])
		j.Up = program.StartUp(t, j.data)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// occupy takes the address of a system that is gone, as any other program may: the next one listens elsewhere.
func occupy(t *testing.T, address string) {
	t.Helper()
	at, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	var listener net.Listener
	err = program.Await(time.Minute, "the address of the system that was killed", func() bool {
		listener, err = (&net.ListenConfig{}).Listen(t.Context(), "tcp", at.Host)
		return err == nil
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
}

const judgedRows = `SELECT kind, row FROM (
    SELECT 'verdict' AS kind, toString(tuple(*)) AS row FROM tap_store.verdict
    UNION ALL SELECT 'judged_step' AS kind, toString(tuple(*)) AS row FROM tap_store.judged_step
    UNION ALL SELECT 'layer_error' AS kind, toString(tuple(*)) AS row FROM tap_store.layer_error
    UNION ALL SELECT 'origin' AS kind, toString((comparison_id, rank, step, op, kind, verdict, error)) AS row FROM tap.origins
)
ORDER BY kind, row`

// settled are the rows of all comparisons once every step is judged and every difference has an origin.
func (j *judged) settled(t *testing.T) []string {
	t.Helper()
	comparisons := j.bases * (len(judgedRuns)*4 - 1)
	j.await(t, fmt.Sprint(comparisons, " ", 2*comparisons, " 0"))
	var all []string
	for _, row := range j.Query(t, judgedRows) {
		all = append(all, strings.Join(row, " "))
	}
	return all
}

// await waits for so many comparisons, judged steps, and comparisons without origin, as long as something comes of it.
func (j *judged) await(t *testing.T, want string) {
	t.Helper()
	const patience = 2 * time.Minute
	have, since := "", time.Now()
	for have != want {
		rows := j.Query(t, `SELECT (SELECT count() FROM tap.declared_comparisons), (SELECT count() FROM tap.judged_steps),
			(SELECT uniqExact(comparison_id) FROM tap.judged_steps WHERE differing_count > 0) - (SELECT uniqExact(comparison_id) FROM tap.origins)`)
		if now := strings.Join(rows[0], " "); now != have {
			have, since = now, time.Now()
		}
		if time.Since(since) > patience {
			t.Fatalf("%s for %v, want %s\n%s%s", have, patience, want, j.Stderr, j.other.Stderr)
		}
		time.Sleep(100 * time.Millisecond)
	}
}

func firstUnlike(got, want []string) string {
	for i := range min(len(got), len(want)) {
		if got[i] != want[i] {
			return got[i] + "\n" + want[i]
		}
	}
	return "one has more"
}
