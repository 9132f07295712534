package deploy

import (
	"database/sql"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tensortap/tensortap/e2e/internal/program"
	"github.com/tensortap/tensortap/internal/dev/grafana/asked"
)

// grafana asks what Grafana asks: the database and Prometheus.
type grafana struct {
	t          *testing.T
	db         *sql.DB
	prometheus string // address
	boards     map[string]asked.Dashboard
}

func (f *fleet) openGrafana(t *testing.T, prometheus string) *grafana {
	t.Helper()
	boards, err := asked.Dashboards(filepath.Join(root, "deploy", "grafana", "dashboards"))
	f.must(err)
	dsn, err := os.ReadFile(filepath.Join(f.secrets, "clickhouse-reader.dsn"))
	f.must(err)
	db, err := asked.Open(strings.TrimSpace(string(dsn)))
	f.must(err)
	t.Cleanup(func() { _ = db.Close() })
	return &grafana{t: t, db: db, prometheus: prometheus, boards: boards}
}

// requireFacts asks every panel until it shows what is planted for it. All of them have the same time for that.
func (g *grafana) requireFacts() {
	g.t.Helper()
	panels, planted := g.panels(), facts()
	for place := range planted {
		if panels[place] == nil {
			g.t.Errorf("a fact is planted for %s, and there is no such panel", place)
		}
	}
	chosen, deadline := g.choices(), time.Now().Add(5*program.Patience)
	for _, place := range slices.Sorted(maps.Keys(panels)) {
		for {
			answer := g.ask(place, panels[place], chosen)
			if shows(answer, planted[place]) {
				break
			}
			if time.Now().After(deadline) {
				g.t.Errorf("%s shows\n%.2000s\nwant all of\n%s", place, answer, strings.Join(planted[place], "\n"))
				break
			}
			time.Sleep(100 * time.Millisecond)
		}
	}
}

// shows says whether the answer has all facts; a panel for which none is planted never shows it.
func shows(answer string, facts []string) bool {
	for _, fact := range facts {
		if !strings.Contains(answer, fact) {
			return false
		}
	}
	return len(facts) > 0
}

// panels are those of all dashboards, by DASHBOARD/TITLE.
func (g *grafana) panels() map[string]*asked.Panel {
	g.t.Helper()
	all := map[string]*asked.Panel{}
	for name, board := range g.boards {
		for i := range board.Panels {
			place := name + "/" + board.Panels[i].Title
			if all[place] != nil {
				g.t.Errorf("two panels are %s", place)
			}
			all[place] = &board.Panels[i]
		}
	}
	return all
}

// choices are the runs of the demo and their comparison, once there is one, as who opens the dashboards chooses them.
func (g *grafana) choices() map[string][]string {
	g.t.Helper()
	chosen := asked.Choices(g.boards)
	chosen["run"], chosen["bench"] = []string{"demo-bad"}, []string{"demo-good"}
	all := asked.Questions(g.boards)
	of := slices.IndexFunc(all, func(q asked.Question) bool { return q.Place == "divergence/$comparison" })
	err := program.Await(program.Patience, "a comparison of demo-bad", func() bool {
		found, err := all[of].Ask(g.t.Context(), g.db, asked.Request(chosen, lastDay()))
		if err == nil && len(found.Rows) > 0 {
			chosen["comparison"] = []string{asked.Text(found.Rows[0][0])}
		}
		return len(found.Rows) > 0
	})
	if err != nil {
		g.t.Fatal(err)
	}
	return chosen
}

func lastDay() [2]time.Time { return [2]time.Time{time.Now().Add(-24 * time.Hour), time.Now()} }

// ask is what the panel shows, as text; an error is what it shows, too: Grafana asks again.
func (g *grafana) ask(place string, panel *asked.Panel, chosen map[string][]string) string {
	g.t.Helper()
	if !panel.OfDatabase() {
		return askPrometheus(g.t, g.prometheus, panel.Targets[0].Expr)
	}
	board, _, _ := strings.Cut(place, "/")
	found, err := panel.Question(board).Ask(g.t.Context(), g.db, asked.Request(chosen, lastDay()))
	if err != nil {
		return err.Error()
	}
	return found.String()
}
