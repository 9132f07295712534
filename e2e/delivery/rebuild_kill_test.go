package delivery

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tensortap/tensortap/e2e/internal/program"
	"github.com/tensortap/tensortap/internal/dev/soak"
	"github.com/tensortap/tensortap/internal/embedded/guard"
	"github.com/tensortap/tensortap/internal/system"
)

// killing is a way to the engine that kills a process, or the engine, at one of its statements.
type killing struct {
	way    *httputil.ReverseProxy
	engine *separate

	mu     sync.Mutex
	victim *program.Up
	at     killPoint
	seen   int
}

// killPoint is the statement, by a part of its text, how often it comes before, and whether the engine still carries it out.
type killPoint struct {
	statement string
	before    int
	done      bool
	engine    bool   // is killed, in place of the process
	next      string // what the next start says of it
}

func startKilling(tb testing.TB, engine *separate) (k *killing, dsn string) {
	tb.Helper()
	k = &killing{engine: engine, way: httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: engine.address})}
	server := httptest.NewServer(k)
	tb.Cleanup(server.Close)
	return k, "http://" + guard.Owner + ":not%20a%20secret@" + strings.TrimPrefix(server.URL, "http://")
}

// ServeHTTP implements http.Handler.
func (k *killing) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the victim is dead
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	kill, done := k.strikes(r.URL.Query().Get("query") + string(body))
	if kill == nil {
		k.way.ServeHTTP(w, r)
		return
	}
	if done {
		k.way.ServeHTTP(httptest.NewRecorder(), r)
	}
	kill()
	panic(http.ErrAbortHandler)
}

// strikes returns how to kill, if this is the statement, and whether the engine still carries it out.
func (k *killing) strikes(text string) (kill func(), done bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.victim == nil || !strings.Contains(text, k.at.statement) {
		return nil, false
	}
	if k.seen++; k.seen != k.at.before+1 {
		return nil, false
	}
	if k.at.engine {
		engine := k.engine.process
		return func() { _ = engine.Kill() }, k.at.done
	}
	victim := k.victim
	return func() { _ = victim.Cmd.Process.Kill() }, k.at.done
}

// replay runs `replay --rebuild` until it is killed at the point, or the engine is, and returns what it said.
func (k *killing) replay(tb testing.TB, data, dsn string, at killPoint) string {
	tb.Helper()
	victim := program.NewUp(data, program.Command(tb, program.Setting{Data: data}, "replay", "--rebuild", "--clickhouse", dsn))
	k.mu.Lock()
	k.victim, k.at, k.seen = victim, at, 0
	k.mu.Unlock()
	if err := victim.Begin(); err != nil {
		tb.Fatal(err)
	}
	select {
	case <-victim.Ended:
	case <-time.After(3 * time.Minute):
		tb.Fatalf("replay --rebuild did not come to %+v: %s", at, victim.Stderr)
	}
	if at.engine {
		k.mu.Lock()
		k.engine.start()
		k.mu.Unlock()
	}
	if victim.Cmd.ProcessState.Exited() != at.engine || victim.Cmd.ProcessState.Success() {
		tb.Fatalf("replay --rebuild was not killed at %+v: %s", at, victim.Stderr)
	}
	return victim.Stderr.String()
}

// rowsOf is sums of an engine of its own.
func rowsOf(tb testing.TB, data, dsn string) map[string]string {
	tb.Helper()
	out := program.Run(tb, program.Setting{Data: data}, "query", sumsSQL(), "--output", "csv", "--clickhouse", dsn)
	if out.Status != 0 {
		tb.Fatal(out)
	}
	sums := map[string]string{}
	for _, row := range program.ParseCSV(tb, out.Stdout)[1:] {
		sums[row[0]] = row[1] + " " + row[2]
	}
	return sums
}

// TestRebuildThatIsKilledAnywhereLeavesEachTableWhole kills one rebuild after the other. Every table has the old rows or
// the new ones, never fewer; what was decided, the next start finishes; what was not, it gives up.
func TestRebuildThatIsKilledAnywhereLeavesEachTableWhole(t *testing.T) {
	t.Parallel()
	soak.Only(t)
	const finished, givenUp = "is finished now", "is given up"
	engine, dsn := separateEngine(t)
	killing, through := startKilling(t, engine)
	data := t.TempDir()
	u := program.StartUp(t, data, "--archive-age", "100ms", "--clickhouse", dsn)
	twoRuns(t, u)
	mustStop(t, u)
	good := rowsOf(t, data, dsn)
	there := &program.Up{Setting: u.Setting, Endpoint: system.Endpoint{ClickHouse: dsn}}
	program.Execute(t, there, wrongRow)
	bad := rowsOf(t, data, dsn)
	if bad["tensor"] == good["tensor"] {
		t.Fatal("the row is not wrong")
	}
	said := ""
	for _, at := range []killPoint{
		{statement: "CREATE TABLE tap_store_next.`tensor`", next: givenUp},
		{statement: "INSERT INTO tap_store_next.tensor", done: true, next: givenUp},
		{statement: "tap_store_next.`tensor`", before: 1, next: givenUp}, // filled, not compared
		{statement: "CREATE TABLE tap_store_next.decided_exchange", done: true, next: givenUp},
		{statement: "INSERT INTO tap_store_next.decided_exchange", done: true},
		{statement: "EXCHANGE TABLES", done: true}, // each of these by a start that finishes
		{statement: "EXCHANGE TABLES", before: 5},
		{statement: "EXCHANGE TABLES tap_store.`tensor`", done: true},
		{statement: "DROP DATABASE IF EXISTS tap_store_next", next: finished},
		{statement: "DROP DATABASE IF EXISTS tap_store_next", before: 1, done: true},
		{statement: "EXCHANGE TABLES", before: 9, done: true, engine: true, next: finished},
	} {
		program.Execute(t, there, wrongRow) // it was mended, perhaps
		if text := killing.replay(t, data, through, at); !strings.Contains(text, said) {
			t.Errorf("the start after a kill does not say that it %q: %s", said, text)
		}
		for table, rows := range rowsOf(t, data, dsn) {
			if !slices.Contains([]string{good[table], bad[table]}, rows) {
				t.Errorf("killed at %+v: rows and hash of %s: %s, want %s or %s", at, table, rows, good[table], bad[table])
			}
		}
		said = at.next
	}
	out := program.Run(t, u.Setting, "replay", "--rebuild", "--clickhouse", dsn)
	if out.Status != 0 || !strings.Contains(out.Stderr, said) {
		t.Fatal(out)
	}
	names := "SELECT groupArray(name) FROM (SELECT name FROM system.tables WHERE name = 'trend_fill' UNION ALL SELECT name FROM system.databases WHERE name LIKE 'tap_store%')"
	left := program.Run(t, u.Setting, "query", names, "--output", "csv", "--clickhouse", dsn)
	if left.Status != 0 || !strings.Contains(left.Stdout, "tap_store") || !strings.Contains(left.Stdout, "trend_fill") || strings.Contains(left.Stdout, "tap_store_next") {
		t.Errorf("tables and databases at the end: %v", left)
	}
	for table, rows := range rowsOf(t, data, dsn) {
		if rows != good[table] {
			t.Errorf("at the end: rows and hash of %s: %s, want %s", table, rows, good[table])
		}
	}
}
