package grafana_test

import (
	"bytes"
	"cmp"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/tensortap/tensortap/internal/dev/grafana/asked"
	"github.com/tensortap/tensortap/internal/dev/testbed"
)

const (
	timesAsked = 5
	mark       = 300 * time.Millisecond
)

// TestDashboardsOverMillionsOfTensors asks every panel, variable and alert rule of two runs of 4 ranks and 5,000 tensors a step,
// which were judged, and writes how long each took into the file that TENSORTAP_BENCH_DASHBOARDS names.
func TestDashboardsOverMillionsOfTensors(t *testing.T) {
	t.Parallel()
	report := os.Getenv("TENSORTAP_BENCH_DASHBOARDS")
	if report == "" {
		t.Skip("SKIPPED: make bench-dashboards measures this, in minutes")
	}
	rows := testbed.RowsOfRun
	if given := os.Getenv("TENSORTAP_BENCH_ROWS"); given != "" {
		rows, _ = strconv.Atoi(given)
	}
	const rowsOfStep = 20_000
	if rows < rowsOfStep || rows%rowsOfStep != 0 {
		t.Fatalf("TENSORTAP_BENCH_ROWS=%s: want a multiple of %d", os.Getenv("TENSORTAP_BENCH_ROWS"), rowsOfStep)
	}
	d := testbed.StartDatabase(t)
	_ = testbed.FillTwoRuns(rows, func(statement string, parameters map[string]string) error {
		d.Query(t, statement, "", parameters) // ends the test if it cannot
		return nil
	})
	for _, statement := range judgedRows() {
		d.Query(t, statement, "", map[string]string{"run": "problem", "steps": strconv.Itoa(rows / rowsOfStep)})
	}
	settle(t, d)
	took := append(timeEverything(t, openAsGrafana(t, d)), timeRules(t, d)...)
	slices.SortFunc(took, func(a, b timed) int { return cmp.Or(-cmp.Compare(a.took, b.took), strings.Compare(a.name, b.name)) })
	if err := os.WriteFile(report, []byte(asPage(took, rows)), 0o600); err != nil {
		t.Fatal(err)
	}
}

// judgedRows are what came of a comparison of the two runs: the layers of the problem differ from step 3 on.
func judgedRows() []string {
	const id = "WITH xxh3(concat({run:String}, char(31))) AS id\n"
	return []string{
		`INSERT INTO tap_store.declared_comparison (comparison_id, declared_time_ns, problem, benches, tolerance) VALUES (9, 1760000000000000000, 'problem', ['bench'], 1e-6)`,
		`INSERT INTO tap_store.judged_step (run_id, rank, epoch, batch, event_time_ns, comparison_id, step, problem_epoch, bench_epoch, paired_count, diverged_count, agrees_count, differing_count, greatest_error, first_site_id) ` + id +
			`SELECT id, number % 4, 90, intDiv(number, 4), 1760000000000000000, 9, intDiv(number, 4) AS step, 7, 7, 5000, (step >= 3) * 50 AS d, 5000 - d, d, 0.1, cityHash64(0) FROM numbers(4 * {steps:UInt64})`,
		`INSERT INTO tap_store.layer_error (run_id, rank, epoch, batch, event_time_ns, comparison_id, step, direction, layer_index, path, paired_count, greatest_error, greatest_site_id) ` + id +
			`SELECT id, number % 4, 90, intDiv(number, 384), 1760000000000000000, 9, intDiv(number, 384), ['forward', 'backward'][intDiv(number, 4) % 2 + 1], intDiv(number, 8) % 48 AS layer, concat('layers.', toString(layer)), 50, 0.1, cityHash64(0) FROM numbers(384 * {steps:UInt64})`,
		`INSERT INTO tap_store.verdict (run_id, rank, epoch, batch, event_time_ns, comparison_id, step, seq, site_id, bench_site_id, problem_present, bench_present, verdict, differs, error) ` + id +
			`SELECT id, number % 4, 90, intDiv(number, 200), 1760000000000000000, 9, 3 + intDiv(number, 200), intDiv(number, 4) % 50, cityHash64(number % 5000), cityHash64(number % 5000), 1, 1, 'diverged', 1, 0.1 FROM numbers(200 * greatest({steps:UInt64}, 3) - 600)`,
	}
}

// settle has the database add up all steps, as it does by itself within minutes, a million rows each time.
func settle(t *testing.T, d *testbed.Database) {
	t.Helper()
	for d.Query(t, "SELECT count() FROM tap.trend_steps WHERE state != 'kept'", "", nil) != "0\n" {
		d.Query(t, "SYSTEM REFRESH VIEW tap_store.trend_fill", "", nil)
		d.Query(t, "SYSTEM WAIT VIEW tap_store.trend_fill", "", nil)
	}
}

type timed struct {
	name      string
	took, cpu time.Duration
}

func timeEverything(t *testing.T, db *sql.DB) []timed {
	t.Helper()
	chosen := choices(t, "problem", "bench")
	chosen["comparison"] = []string{"0000000000000009"}
	r := asked.Request(chosen, [2]time.Time{time.Unix(1760000000-3600, 0), time.Unix(1760000000+3600, 0)})
	var all []timed
	for board := range dashboards(t) {
		for name, raw := range texts(t, board) {
			if raw == "" {
				continue // of Prometheus
			}
			query, err := r.Query(raw)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, fastest(t, board+", "+name, func() error {
				_, err := asked.Query(t.Context(), db, query)
				return err
			}))
		}
	}
	return all
}

func fastest(t *testing.T, name string, ask func() error) timed {
	t.Helper()
	best := timed{name, time.Hour, time.Hour}
	for range timesAsked {
		begin, before := time.Now(), engineCPU(t)
		if err := ask(); err != nil {
			t.Errorf("%s: %v", name, err)
			return best
		}
		best.took, best.cpu = min(best.took, time.Since(begin)), min(best.cpu, engineCPU(t)-before)
	}
	return best
}

// engineCPU is what the processes that this one started have used of processors.
func engineCPU(t *testing.T) time.Duration {
	t.Helper()
	const tick = 10 * time.Millisecond
	threads, err := filepath.Glob("/proc/self/task/*/children")
	if err != nil {
		t.Fatal(err)
	}
	var ticks int64
	for _, thread := range threads {
		children, _ := os.ReadFile(thread) // it may have ended
		for child := range strings.FieldsSeq(string(children)) {
			stat, _ := os.ReadFile("/proc/" + child + "/stat")
			fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
			for _, field := range fields[11:13] { // user, system
				n, err := strconv.ParseInt(field, 10, 64)
				if err != nil {
					t.Fatal(err)
				}
				ticks += n
			}
		}
	}
	return time.Duration(ticks) * tick
}

func asPage(all []timed, rows int) string {
	var page strings.Builder
	slow := 0
	for _, one := range all {
		if one.took > mark {
			slow++
		}
	}
	fmt.Fprintf(&page, "<!-- Written by make bench-dashboards. -->\n# How long dashboards and alert rules take\n\nOver two runs of %d tensors each, judged; the fastest of %d times, one query at a time.\n%d of %d queries take more than %d ms.\n\n| query | ms | of processors, ms |\n|---|---|---|\n",
		rows, timesAsked, slow, len(all), mark.Milliseconds())
	for _, one := range all {
		fmt.Fprintf(&page, "| %s | %d | %d |\n", one.name, one.took.Milliseconds(), one.cpu.Milliseconds())
	}
	return page.String()
}
