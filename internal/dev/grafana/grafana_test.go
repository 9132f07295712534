package grafana_test

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tensortap/tensortap/internal/dev/grafana/asked"
	"github.com/tensortap/tensortap/internal/dev/grafana/plugin"
	"github.com/tensortap/tensortap/internal/dev/soak"
	"github.com/tensortap/tensortap/internal/dev/testbed"
)

// TestMain lets the test binary be its own engine, as the real binary is.
func TestMain(m *testing.M) {
	testbed.ServeEngine()
	os.Exit(m.Run())
}

// TestOnOneEngine asks all that dashboards and rules ask, as Grafana would. Its parts share the engine, and each adds to
// what is stored.
func TestOnOneEngine(t *testing.T) {
	t.Parallel()
	d := testbed.StartDatabase(t)
	db := openAsGrafana(t, d)
	t.Run("nothing is stored", func(t *testing.T) { askAtLength(t, db, choices(t, "nobody", "none")) }) //nolint:paralleltest // one after the other
	fillDefinitions(t, d)
	fillRun(t, d, goodRun, "0")
	t.Run("no rule fires for a healthy run", func(t *testing.T) { onlyThese(t, firing(t, db), nil) }) //nolint:paralleltest // one after the other
	fillRun(t, d, badRun, "1")
	t.Run("every rule fires for its fault", func(t *testing.T) { onlyThese(t, firing(t, db), planted()) }) //nolint:paralleltest // one after the other
	t.Run("panels show what was planted", func(t *testing.T) { panelsShowWhatWasPlanted(t, db) })          //nolint:paralleltest // one after the other
	t.Run("long ago there was nothing", func(t *testing.T) { nothingOverTime(t, db) })                     //nolint:paralleltest // one after the other
	t.Run("ad-hoc filters are refused", func(t *testing.T) { adHocFiltersAreRefused(t, db) })              //nolint:paralleltest // one after the other
	t.Run("other choices", func(t *testing.T) { askAtLength(t, db, otherChoices(t)) })                     //nolint:paralleltest // one after the other
	t.Run("choices that nobody offers", func(t *testing.T) { noChoiceIsReadAsSQL(t, db) })                 //nolint:paralleltest // one after the other
}

// askAtLength checks the shape of all answers over several ranges.
func askAtLength(t *testing.T, db *sql.DB, chosen map[string][]string) {
	t.Helper()
	soak.Only(t)
	now := time.Now()
	for _, past := range []time.Duration{5 * time.Minute, 30 * 24 * time.Hour} {
		askEverything(t, db, chosen, [2]time.Time{now.Add(-past), now})
	}
}

func otherChoices(tb testing.TB) map[string][]string {
	tb.Helper()
	chosen := choicesOfBad(tb)
	chosen["rank"], chosen["first_step"], chosen["last_step"], chosen["by"], chosen["layer"] = []string{"2"}, []string{"10"}, []string{"30"}, []string{"rank"}, []string{"layers.2"}
	return chosen
}

func choicesOfBad(tb testing.TB) map[string][]string {
	tb.Helper()
	chosen := choices(tb, badRun, goodRun)
	chosen["comparison"] = []string{"0000000000000006"}
	return chosen
}

func lastDay() [2]time.Time {
	return [2]time.Time{time.Now().Add(-24 * time.Hour), time.Now().Add(time.Minute)}
}

// choices are the values of all variables: the defaults, but for the run and its bench.
func choices(tb testing.TB, run, bench string) map[string][]string {
	tb.Helper()
	chosen := asked.Choices(dashboards(tb))
	chosen["run"], chosen["bench"] = []string{run}, []string{bench}
	return chosen
}

// openAsGrafana connects as the user who only reads.
func openAsGrafana(tb testing.TB, d *testbed.Database) *sql.DB {
	tb.Helper()
	db, err := asked.Open(d.ReaderDSN)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = db.Close() })
	return db
}

// askEverything checks the shape of every answer, and returns them by dashboard and panel or variable.
func askEverything(t *testing.T, db *sql.DB, chosen map[string][]string, between [2]time.Time) map[string]asked.Frame {
	t.Helper()
	answers, r := map[string]asked.Frame{}, asked.Request(chosen, between)
	for _, q := range asked.Questions(dashboards(t)) {
		answers[q.Place] = patiently(t, q, db, r)
	}
	return answers
}

// patiently asks again what took longer than Grafana waits: this machine may have much else to do.
func patiently(t *testing.T, q asked.Question, db *sql.DB, r *plugin.Request) asked.Frame {
	t.Helper()
	const tries = 10
	var f asked.Frame
	err := context.DeadlineExceeded
	for i := 0; i < tries && errors.Is(err, context.DeadlineExceeded); i++ {
		f, err = q.Ask(t.Context(), db, r)
	}
	if err != nil {
		t.Error(err)
	}
	return f
}

// firing are the cases of each rule that fires, as Grafana finds them: rows whose number is above the threshold.
func firing(t *testing.T, db *sql.DB) map[string]string {
	t.Helper()
	fired := map[string]string{}
	for name, rule := range rules(t) {
		seconds := time.Duration(rule.Data[0].Range.From) * time.Second
		query, err := asked.Request(nil, [2]time.Time{time.Now().Add(-seconds), time.Now()}).AlertQuery(rule.Data[0].Model.RawSQL)
		if err != nil {
			t.Fatal(err)
		}
		f, err := asked.Query(t.Context(), db, query)
		if err != nil {
			t.Fatalf("rule %s: %v\n%s", name, err, query)
		}
		if err := f.Cases(); err != nil {
			t.Errorf("rule %s: %v", name, err)
		}
		if found := above(&f, rule.Data[1].Model.Conditions[0].Evaluator.Params[0]); len(found.Rows) > 0 {
			fired[name] = found.String()
		}
	}
	return fired
}

func above(f *asked.Frame, threshold float64) asked.Frame {
	value := slices.Index(f.Columns, "value")
	kept := asked.Frame{Columns: f.Columns, Types: f.Types}
	for _, row := range f.Rows {
		if asked.Number(row[value]) > threshold {
			kept.Rows = append(kept.Rows, row)
		}
	}
	return kept
}

// planted are the cases that rules have to find, by how they begin.
func planted() map[string]string {
	return map[string]string{
		"first-divergence": "run=" + badRun + " bench=good comparison=0000000000000006 step=12 rank=1 op=Module.layers.2.Linear.forward.0 ",
		"first-nan":        "run=" + badRun + " rank=2 step=20 op=Module.layers.2.Linear.forward.0 ",
		"memory-growth":    "run=" + badRun + " rank=3 device=cuda:0 counter=allocated ",
		"rank-silent":      "run=" + badRun + " rank=3 step=39 ",
		"hang":             "run=" + badRun + " collective=all_reduce 9 of world [0-3] missing=[3] ",
		"dead-letters":     "origin=clickhouse reason=checksum does not match value=1 ",
		"dropped-events":   "run=" + badRun + " rank=0 reason=queue full value=5 ",
	}
}

// onlyThese checks that each of the rules found one case, which begins so, and no other rule found any.
func onlyThese(t *testing.T, fired, want map[string]string) {
	t.Helper()
	for name, begins := range want {
		if got := fired[name]; !strings.HasPrefix(got, begins) || strings.Count(got, "\n") != 1 {
			t.Errorf("rule %s found\n%swant one case: %s", name, got, begins)
		}
	}
	for name, cases := range fired {
		if _, wanted := want[name]; !wanted && name != "disk" { // this machine's may be full
			t.Errorf("rule %s fires for nothing:\n%s", name, cases)
		}
	}
}

// nothingOverTime asks the panels over time for a time before all runs.
func nothingOverTime(t *testing.T, db *sql.DB) {
	t.Helper()
	r := asked.Request(choicesOfBad(t), [2]time.Time{time.Unix(1e9, 0), time.Unix(1e9+3600, 0)})
	for name, m := range dashboards(t) {
		for _, p := range m.Panels {
			if !p.OfDatabase() || p.Type != "timeseries" && p.Type != "logs" {
				continue
			}
			if f, err := p.Question(name).Ask(t.Context(), db, r); err != nil || len(f.Rows) > 0 {
				t.Errorf("dashboard %s, panel %q, of 2001: %v\n%s", name, p.Title, err, f)
			}
		}
	}
}

func panelsShowWhatWasPlanted(t *testing.T, db *sql.DB) {
	t.Helper()
	answers := askEverything(t, db, choicesOfBad(t), lastDay())
	for place, want := range map[string]string{
		"runs/Runs":                                          "run=" + badRun + " status=running complete=0 explanation=rank 0: the rank dropped 5 (queue full) verdict=differs bench=good first_step=12 first_rank=1 first_op=Module.layers.2.Linear.forward.0",
		"divergence/Where the difference began":              "rank=1 step=12 op=Module.layers.2.Linear.forward.0",
		"divergence/First divergence of each rank":           "rank=1 step=12 op=Module.layers.2.Linear.forward.0",
		"divergence/Error by layer and step":                 "step=12 line=layers.2 forward value=0.125",
		"divergence/Verdicts by step":                        "step=12 line=diverged value=4",
		"divergence/Differing tensors by rank":               "step=12 line=rank 1 value=4",
		"divergence/What differs":                            "rank=1 step=12 op=Module.layers.2.Linear.forward.0",
		"divergence/$comparison":                             "comparison=0000000000000006 text=0000000000000006 differs",
		"divergence/$bench":                                  "bench=good",
		"overflow/Values that are not finite":                "step=20 line=rank 2 value=20",
		"overflow/Where it began":                            "rank=2 step=20 position=8 op=Module.layers.2.Linear.forward.0",
		"overflow/Requests poisoned":                         "request=req-7",
		"overflow/NaN over time":                             "line=rank 2 nan=",
		"memory/Growth without end":                          "rank=3 device=cuda:0 component=all counter=allocated growth_bytes_per_step=1.048576e+06",
		"memory/Allocated, rank by rank":                     "step=39 line=rank 3 cuda:0 value=1040894464",
		"memory/By component":                                "step=39 line=rank 0 weights value=500000000",
		"ranks/Ranks":                                        "rank=3 state=silent",
		"ranks/Duration of steps":                            "step=30 line=rank 0 value=20",
		"ranks/Stragglers":                                   "rank=0 step=30",
		"ranks/Hangs":                                        "process_group=world [0-3] group_seq=9 name=all_reduce problem=not arrived missing_ranks=3",
		"trends/$statistic by $by":                           "step=39 line=layer 2",
		"trends/Numbers that the program reported of itself": "step=39 line=loss, rank 0 value=2.390625",
		"logs/Lines":                                         "body=loss is nan level=error rank=2",
		"logs/Lines by level":                                "level=error lines=1",
		"pipeline/Messages refused":                          "subject=tap.tensor.x.0 reason=checksum does not match",
		"pipeline/What is not whole":                         "run=" + badRun + " rank=0 explanation=the rank dropped 5",
		"pipeline/Events dropped by ranks, over time":        "run=" + badRun + " dropped=5",
	} {
		if got := answers[place].String(); !strings.Contains(got, want) {
			t.Errorf("%s does not show %q:\n%.1500s", place, want, got)
		}
	}
}

// adHocFiltersAreRefused holds what docs/grafana.md says: they need a setting that the user who only reads may not set.
func adHocFiltersAreRefused(t *testing.T, db *sql.DB) {
	t.Helper()
	r := asked.Request(nil, lastDay())
	r.Filters = []plugin.Filter{{Key: "name", Operator: "=", Value: goodRun}}
	query, err := r.Query("SELECT name FROM tap.runs")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := asked.Query(t.Context(), db, query); err == nil || !strings.Contains(err.Error(), "additional_table_filters") {
		t.Errorf("a query with a filter answers %v, want that the setting may not be changed", err)
	}
}

// noChoiceIsReadAsSQL chooses for every variable what ends texts. The database may refuse it, as no number or no run, and
// says nothing of syntax.
func noChoiceIsReadAsSQL(t *testing.T, db *sql.DB) {
	t.Helper()
	soak.Only(t)
	chosen := choices(t, badRun, goodRun)
	for name := range chosen {
		chosen[name] = []string{badRun}
	}
	r := asked.Request(chosen, lastDay())
	for name := range dashboards(t) {
		for what, raw := range texts(t, name) {
			query, err := r.Query(raw)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := asked.Query(t.Context(), db, query); err != nil && strings.Contains(err.Error(), "Syntax error") {
				t.Errorf("%s, %s: a value is read as SQL: %v", name, what, err)
			}
		}
	}
}
