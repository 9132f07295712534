package load

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/tensortap/tensortap/analysis/rules"
	"github.com/tensortap/tensortap/analysis/verdicts"
	"github.com/tensortap/tensortap/e2e/internal/program"
	"github.com/tensortap/tensortap/e2e/internal/servers"
	"github.com/tensortap/tensortap/internal/dev/recorded"
	"github.com/tensortap/tensortap/pipelines"
	"github.com/tensortap/tensortap/schemas"
)

// The roles of a fleet.
const (
	tables  = "consume --store tables"
	archive = "consume --store archive"
	judge   = "judge"
	alert   = "alert"
)

// archiveAge is the longest time until an event is in the archive.
const archiveAge = time.Second

func roleNames() []string { return []string{tables, archive, judge, alert} }

// world is servers and roles, each a process of its own, and a crowd that publishes to them.
type world struct {
	nats   *servers.NATS
	engine *servers.Engine
	conn   driver.Conn
	js     jetstream.JetStream
	data   string // of the role that fills the archive
	small  bool   // the archive is on a small disk
	roles  map[string]*program.Up
	crowd  *crowd
	lag    *lagging
}

// startWorld starts all. With archiveBytes the archive is on a disk of that size, where that is allowed.
func startWorld(tb testing.TB, archiveBytes int64) *world {
	tb.Helper()
	w := &world{data: tb.TempDir(), roles: map[string]*program.Up{}}
	if archiveBytes > 0 {
		err := program.MountSmall(tb, w.folder(), fmt.Sprint(archiveBytes))
		w.small = err == nil
		if !w.small && os.Getenv("REQUIRE_SERVICES") == "1" {
			tb.Fatal(err)
		}
		if !w.small {
			tb.Logf("NOT TESTED: a full disk under the archive: mounting a small one is not allowed here: %v", err)
		}
	}
	w.nats, w.engine = servers.StartNATS(tb), servers.StartEngine(tb)
	w.conn, w.js = w.engine.Open(tb), program.ConnectStream(tb, w.nats.URL)
	for _, role := range roleNames() {
		w.start(tb, role)
	}
	of := fleetSize{Agents: *agents, Epoch: uint64(time.Now().UnixNano())} //nolint:gosec // another for each
	w.crowd = startCrowd(tb, w.nats.URL, filepath.Join(recorded.Unpack(tb, "B00_golden_mix"), "step0"), of, *crowds)
	w.compare(tb)
	w.stored(tb, tables, archive) // what all ranks tell of their model
	w.lag = watch(tb, w)
	return w
}

// folder is where the archive is.
func (w *world) folder() string { return filepath.Join(w.data, "archive") }

// start starts a role, and returns once it is at work.
func (w *world) start(tb testing.TB, role string) {
	tb.Helper()
	args := append(strings.Fields(role), "-v", "--nats", w.nats.URL)
	data, said := tb.TempDir(), "stores events"
	switch role {
	case archive:
		args, data = append(args, "--archive-age", archiveAge.String()), w.data
	case tables:
		args, said = append(args, "--clickhouse", w.engine.DSN), "a shard is this process's"
	default:
		args, said = append(args, "--clickhouse", w.engine.DSN), ""
	}
	w.roles[role] = servers.Begin(tb, program.Command(tb, program.Setting{Data: data}, args...), said)
}

// compare has the judge compare one run with another as their steps land.
func (w *world) compare(tb testing.TB) {
	tb.Helper()
	m, err := verdicts.Declared(schemas.DeclaredComparisonRow{
		DeclaredTimeNs: time.Now().UnixNano(), Problem: runName(1), Benches: []string{runName(0)}, Tolerance: -1, Rules: rules.Version, Standing: 1,
	})
	if err != nil {
		tb.Fatal(err)
	}
	cfg := pipelines.DefaultConfig().Publish
	cfg.SpillDir = tb.TempDir()
	p, err := pipelines.NewPublisher(cfg, w.js, time.Now, nil)
	if err != nil {
		tb.Fatal(err)
	}
	if err := publishStep(tb.Context(), p, m); err != nil {
		tb.Fatal(err)
	}
}

// consumers are the names of those of the tables or the archive.
func (w *world) consumers(tb testing.TB, role string) (found []string) {
	tb.Helper()
	kept, err := w.js.Stream(tb.Context(), pipelines.StreamName)
	if err != nil {
		tb.Fatal(err)
	}
	prefix := map[string]string{tables: "tables-", archive: "parquet-"}[role]
	list := kept.ConsumerNames(tb.Context())
	for name := range list.Name() {
		if strings.HasPrefix(name, prefix) {
			found = append(found, name)
		}
	}
	if err := list.Err(); err != nil || len(found) == 0 {
		tb.Fatalf("consumers of %s: %v, %v", role, found, err)
	}
	return found
}

// stored returns once all that the stream has is stored, and how long that took.
func (w *world) stored(tb testing.TB, roles ...string) time.Duration {
	tb.Helper()
	begin := time.Now()
	for _, role := range roles {
		if err := pipelines.WaitStored(tb.Context(), w.js, 0, 50*time.Millisecond, w.consumers(tb, role)...); err != nil {
			tb.Fatal(err)
		}
	}
	return time.Since(begin)
}

// number is the answer to a query.
func (w *world) number(tb testing.TB, query string) (n float64) {
	tb.Helper()
	if err := w.conn.QueryRow(tb.Context(), query).Scan(&n); err != nil {
		tb.Fatalf("%s: %v", query, err)
	}
	return n
}

// runIDs are the ids of the runs, as SQL lists them.
func runIDs() string {
	ids := make([]string, runs)
	for i := range ids {
		ids[i] = fmt.Sprint(schemas.RunID(runName(i)))
	}
	return strings.Join(ids, ", ")
}
