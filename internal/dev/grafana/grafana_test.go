package grafana_test

import (
	"database/sql"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tensortap/tensortap/internal/dev/grafana"
	"github.com/tensortap/tensortap/internal/dev/grafana/plugin"
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
	t.Run("nothing is stored", func(t *testing.T) { askAtLength(t, db, choices("nobody", "none")) }) //nolint:paralleltest // one after the other
	fillDefinitions(t, d)
	fillRun(t, d, goodRun, "0")
	t.Run("no rule fires for a healthy run", func(t *testing.T) { onlyThese(t, firing(t, db), nil) }) //nolint:paralleltest // one after the other
	fillRun(t, d, badRun, "1")
	t.Run("every rule fires for its fault", func(t *testing.T) { onlyThese(t, firing(t, db), planted()) }) //nolint:paralleltest // one after the other
	t.Run("panels show what was planted", func(t *testing.T) { panelsShowWhatWasPlanted(t, db) })          //nolint:paralleltest // one after the other
	t.Run("long ago there was nothing", func(t *testing.T) { nothingOverTime(t, db) })                     //nolint:paralleltest // one after the other
	t.Run("ad-hoc filters are refused", func(t *testing.T) { adHocFiltersAreRefused(t, db) })              //nolint:paralleltest // one after the other
	t.Run("other choices", func(t *testing.T) { askAtLength(t, db, otherChoices()) })                      //nolint:paralleltest // one after the other
	t.Run("choices that nobody offers", func(t *testing.T) { noChoiceIsReadAsSQL(t, db) })                 //nolint:paralleltest // one after the other
}

// atLength skips what takes a minute: make test asks each panel once.
func atLength(t *testing.T) {
	t.Helper()
	if os.Getenv("TENSORTAP_ALL_DASHBOARDS") == "" {
		t.Skip("SKIPPED: make test-dashboards asks for other choices and ranges, too")
	}
}

// askAtLength checks the shape of all answers over several ranges.
func askAtLength(t *testing.T, db *sql.DB, chosen map[string][]string) {
	t.Helper()
	atLength(t)
	now := time.Now()
	for _, past := range []time.Duration{5 * time.Minute, 30 * 24 * time.Hour} {
		askEverything(t, db, chosen, [2]time.Time{now.Add(-past), now})
	}
}

func otherChoices() map[string][]string {
	chosen := choicesOfBad()
	chosen["rank"], chosen["first_step"], chosen["last_step"], chosen["by"], chosen["layer"] = []string{"2"}, []string{"10"}, []string{"30"}, []string{"rank"}, []string{"layers.2"}
	return chosen
}

func choicesOfBad() map[string][]string {
	chosen := choices(badRun, goodRun)
	chosen["comparison"] = []string{"0000000000000006"}
	return chosen
}

func lastDay() [2]time.Time {
	return [2]time.Time{time.Now().Add(-24 * time.Hour), time.Now().Add(time.Minute)}
}

// choices are the values of all variables: the defaults, but for the run and its bench.
func choices(run, bench string) map[string][]string {
	chosen := map[string][]string{}
	for _, b := range grafana.Boards() {
		for _, v := range b.Variables {
			value := v.Default
			if value == "" && len(v.Choices) > 0 {
				value = v.Choices[0]
			}
			chosen[v.Name] = []string{value}
		}
	}
	chosen["run"], chosen["bench"] = []string{run}, []string{bench}
	return chosen
}

func request(chosen map[string][]string, between [2]time.Time) plugin.Request {
	return plugin.Request{From: between[0], To: between[1], Interval: max(time.Second, between[1].Sub(between[0])/500), Variables: chosen}
}

// askEverything checks the shape of every answer, and returns them by dashboard and panel or variable.
func askEverything(t *testing.T, db *sql.DB, chosen map[string][]string, between [2]time.Time) map[string]frame {
	t.Helper()
	answers := map[string]frame{}
	r := request(chosen, between)
	all := dashboards(t)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		for _, p := range all[name].Panels {
			if p.Datasource.UID == "tensortap-clickhouse" {
				answers[name+"/"+p.Title] = p.ask(t, db, name, r)
			}
		}
		for _, v := range all[name].Templating.List {
			if v.Type == "query" {
				answers[name+"/$"+v.Name] = askOne(t, db, name+"/$"+v.Name, r, v.Query)
			}
		}
	}
	return answers
}

func (p panel) ask(t *testing.T, db *sql.DB, board string, r plugin.Request) frame {
	t.Helper()
	f := askOne(t, db, board+"/"+p.Title, r, p.Targets[0].RawSQL)
	check := map[string]func() error{
		"timeseries": f.series, "trend": f.lines, "stat": f.figures, "logs": f.logs, "table": func() error { return nil },
	}[p.Type]
	if err := check(); err != nil {
		t.Errorf("dashboard %s, panel %q: %v", board, p.Title, err)
	}
	return f
}

func askOne(t *testing.T, db *sql.DB, name string, r plugin.Request, raw string) frame {
	t.Helper()
	query, err := r.Query(raw)
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return frame{}
	}
	f, err := ask(t.Context(), db, query)
	if err != nil {
		t.Errorf("%s: %.300v\n%s", name, err, query)
	}
	return f
}

// firing are the cases of each rule that fires, as Grafana finds them: rows whose number is above the threshold.
func firing(t *testing.T, db *sql.DB) map[string]string {
	t.Helper()
	fired := map[string]string{}
	for name, rule := range rules(t) {
		seconds := time.Duration(rule.Data[0].Range.From) * time.Second
		query, err := request(nil, [2]time.Time{time.Now().Add(-seconds), time.Now()}).AlertQuery(rule.Data[0].Model.RawSQL)
		if err != nil {
			t.Fatal(err)
		}
		f, err := ask(t.Context(), db, query)
		if err != nil {
			t.Fatalf("rule %s: %v\n%s", name, err, query)
		}
		if err := f.cases(); err != nil {
			t.Errorf("rule %s: %v", name, err)
		}
		if above := f.above(rule.Data[1].Model.Conditions[0].Evaluator.Params[0]); len(above.rows) > 0 {
			fired[name] = above.String()
		}
	}
	return fired
}

func (f frame) above(threshold float64) frame {
	value := slices.Index(f.columns, "value")
	kept := frame{columns: f.columns, types: f.types}
	for _, row := range f.rows {
		if number(row[value]) > threshold {
			kept.rows = append(kept.rows, row)
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
	r := request(choicesOfBad(), [2]time.Time{time.Unix(1e9, 0), time.Unix(1e9+3600, 0)})
	for name, m := range dashboards(t) {
		for _, p := range m.Panels {
			if p.Datasource.UID != "tensortap-clickhouse" || p.Type != "timeseries" && p.Type != "logs" {
				continue
			}
			if f := p.ask(t, db, name, r); len(f.rows) > 0 {
				t.Errorf("dashboard %s, panel %q, of 2001:\n%s", name, p.Title, f)
			}
		}
	}
}

func panelsShowWhatWasPlanted(t *testing.T, db *sql.DB) {
	t.Helper()
	answers := askEverything(t, db, choicesOfBad(), lastDay())
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
	r := request(nil, lastDay())
	r.Filters = []plugin.Filter{{Key: "name", Operator: "=", Value: goodRun}}
	query, err := r.Query("SELECT name FROM tap.runs")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ask(t.Context(), db, query); err == nil || !strings.Contains(err.Error(), "additional_table_filters") {
		t.Errorf("a query with a filter answers %v, want that the setting may not be changed", err)
	}
}

// noChoiceIsReadAsSQL chooses for every variable what ends texts. The database may refuse it, as no number or no run, and
// says nothing of syntax.
func noChoiceIsReadAsSQL(t *testing.T, db *sql.DB) {
	t.Helper()
	atLength(t)
	chosen := choices(badRun, goodRun)
	for name := range chosen {
		chosen[name] = []string{badRun}
	}
	r := request(chosen, lastDay())
	for name := range dashboards(t) {
		for what, raw := range texts(t, name) {
			query, err := r.Query(raw)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := ask(t.Context(), db, query); err != nil && strings.Contains(err.Error(), "Syntax error") {
				t.Errorf("%s, %s: a value is read as SQL: %v", name, what, err)
			}
		}
	}
}
