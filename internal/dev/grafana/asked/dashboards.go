package asked

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/tensortap/tensortap/internal/dev/grafana/plugin"
)

// Dashboard is what Grafana reads of a dashboard, as far as its queries go.
type Dashboard struct {
	UID        string `json:"uid"`
	Templating struct {
		List []Variable `json:"list"`
	} `json:"templating"`
	Panels []Panel `json:"panels"`
}

// Variable is a choice at the head of a dashboard.
type Variable struct {
	Name    string `json:"name"`
	Type    string `json:"type"`
	Query   string `json:"query"` // of the database where Type is query
	Current struct {
		Value string `json:"value"`
	} `json:"current"`
}

// Panel is one picture.
type Panel struct {
	Title      string `json:"title"`
	Type       string `json:"type"`
	Datasource struct {
		UID string `json:"uid"`
	} `json:"datasource"`
	GridPos     struct{ X, Y, W, H int } `json:"gridPos"`
	FieldConfig struct {
		Defaults struct {
			Custom struct {
				ScaleDistribution struct {
					Type string `json:"type"`
				} `json:"scaleDistribution"`
			} `json:"custom"`
		} `json:"defaults"`
	} `json:"fieldConfig"`
	Targets []struct {
		RawSQL string `json:"rawSql"`
		Format int    `json:"format"`
		Expr   string `json:"expr"` // of a panel of metrics
	} `json:"targets"`
}

// Dashboards are those of a folder, by the names of their files.
func Dashboards(folder string) (map[string]Dashboard, error) {
	files, err := filepath.Glob(filepath.Join(folder, "*.json"))
	if err != nil || len(files) == 0 {
		return nil, fmt.Errorf("%s has no dashboards: %w", folder, err)
	}
	found := map[string]Dashboard{}
	for _, file := range files {
		text, err := os.ReadFile(file) //nolint:gosec // found above
		if err != nil {
			return nil, err
		}
		var d Dashboard
		if err := json.Unmarshal(text, &d); err != nil {
			return nil, fmt.Errorf("dashboard %s: %w", file, err)
		}
		found[strings.TrimSuffix(filepath.Base(file), ".json")] = d
	}
	return found, nil
}

// Choices are the values of all variables that nobody has chosen yet; the text is empty where there is no default.
func Choices(dashboards map[string]Dashboard) map[string][]string {
	chosen := map[string][]string{}
	for _, d := range dashboards {
		for _, v := range d.Templating.List {
			chosen[v.Name] = []string{v.Current.Value}
		}
	}
	return chosen
}

// Request is what surrounds the queries of a dashboard of some 500 points' width.
func Request(chosen map[string][]string, between [2]time.Time) *plugin.Request {
	return &plugin.Request{From: between[0], To: between[1], Interval: max(time.Second, between[1].Sub(between[0])/500), Variables: chosen}
}

// OfDatabase says whether the panel asks the database, and not Prometheus.
func (p *Panel) OfDatabase() bool { return p.Datasource.UID == "tensortap-clickhouse" }

// Question is what one panel or variable asks.
type Question struct {
	Place   string // DASHBOARD/PANEL or DASHBOARD/$VARIABLE
	raw     string
	drawing string // the panel's type, whose form the answer has to have
}

// Questions are those of all panels and variables to the database.
func Questions(dashboards map[string]Dashboard) []Question {
	var all []Question
	for _, name := range slices.Sorted(maps.Keys(dashboards)) {
		for _, v := range dashboards[name].Templating.List {
			if v.Type == "query" {
				all = append(all, Question{Place: name + "/$" + v.Name, raw: v.Query})
			}
		}
		for _, p := range dashboards[name].Panels {
			if p.OfDatabase() {
				all = append(all, p.Question(name))
			}
		}
	}
	return all
}

// Question is what the panel of that dashboard asks.
func (p *Panel) Question(dashboard string) Question {
	return Question{Place: dashboard + "/" + p.Title, raw: p.Targets[0].RawSQL, drawing: p.Type}
}

// Ask is the answer, which has the form that the panel needs.
func (q Question) Ask(ctx context.Context, db *sql.DB, r *plugin.Request) (Frame, error) {
	query, err := r.Query(q.raw)
	if err != nil {
		return Frame{}, fmt.Errorf("%s: %w", q.Place, err)
	}
	f, err := Query(ctx, db, query)
	if err != nil {
		return f, fmt.Errorf("%s: %w\n%s", q.Place, err, query)
	}
	check := map[string]func() error{"timeseries": f.Series, "trend": f.Lines, "stat": f.Figures, "logs": f.Logs}[q.drawing]
	if check == nil {
		return f, nil
	}
	if err := check(); err != nil {
		return f, fmt.Errorf("%s: %w", q.Place, err)
	}
	return f, nil
}
