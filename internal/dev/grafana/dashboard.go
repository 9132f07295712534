package grafana

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/grafana/grafana-foundation-sdk/go/common"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
)

// The names by which dashboards find their data sources.
const (
	databaseUID   = "tensortap-clickhouse"
	databaseType  = "grafana-clickhouse-datasource"
	metricsUID    = "tensortap-prometheus"
	metricsType   = "prometheus"
	columnsOfPage = 24
)

// uid is a dashboard's address.
func uid(board string) string { return "tensortap-" + board }

// Dashboard is the board as Grafana's JSON model.
func (b Board) Dashboard() ([]byte, error) {
	d := dashboard.NewDashboard()
	d.Uid, d.Title, d.Description = new(uid(b.Name)), new("tensortap: "+b.Title), new(b.About)
	d.Tags = []string{"tensortap"}
	d.Editable = new(false)
	d.GraphTooltip = new(dashboard.DashboardCursorSyncCrosshair)
	d.Refresh, d.Timezone = new("30s"), new("utc")
	d.Time = &dashboard.DashboardDashboardTime{From: "now-24h", To: "now"}
	d.Links = []dashboard.DashboardLink{others()}
	for _, v := range b.Variables {
		model, err := v.model()
		if err != nil {
			return nil, fmt.Errorf("dashboard %s, variable %s: %w", b.Name, v.Name, err)
		}
		d.Templating.List = append(d.Templating.List, model)
	}
	var err error
	if d.Panels, err = b.panels(); err != nil {
		return nil, fmt.Errorf("dashboard %s, %w", b.Name, err)
	}
	if err := d.Validate(); err != nil {
		return nil, fmt.Errorf("dashboard %s: %w", b.Name, err)
	}
	text, err := json.MarshalIndent(d, "", "  ")
	return unescaped(text), err
}

// unescaped has <, > and & as they are, which the encoder writes as numbers: queries are full of them.
func unescaped(text []byte) []byte {
	return []byte(strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&").Replace(string(text)))
}

// others leads to the other dashboards, with run, time and what else they share.
func others() dashboard.DashboardLink {
	return dashboard.DashboardLink{
		Title: "tensortap", Type: dashboard.DashboardLinkTypeDashboards, Icon: "external link", Tags: []string{"tensortap"},
		AsDropdown: false, IncludeVars: true, KeepTime: true,
	}
}

// panels fills rows of the page from left to right.
func (b Board) panels() ([]dashboard.PanelOrRowPanel, error) {
	var x, y, high uint32
	panels := make([]dashboard.PanelOrRowPanel, 0, len(b.Panels))
	for i, p := range b.Panels {
		drawn, err := p.draw()
		if err != nil {
			return nil, fmt.Errorf("panel %q: %w", p.Title, err)
		}
		at := dashboard.GridPos{W: or(p.Wide, columnsOfPage/2), H: or(p.High, 8)}
		if x+at.W > columnsOfPage {
			x, y, high = 0, y+high, 0
		}
		at.X, at.Y = x, y
		x, high = x+at.W, max(high, at.H)
		drawn.Id, drawn.GridPos = new(uint32(i+1)), &at //nolint:gosec // a few panels
		panels = append(panels, dashboard.PanelOrRowPanel{Panel: drawn})
	}
	return panels, nil
}

func or(given, usual uint32) uint32 {
	if given == 0 {
		return usual
	}
	return given
}

func database() *common.DataSourceRef {
	return &common.DataSourceRef{Type: new(databaseType), Uid: new(databaseUID)}
}

// model is the variable as Grafana keeps it.
func (v Variable) model() (dashboard.VariableModel, error) {
	m := dashboard.VariableModel{Name: v.Name, Label: new(v.Label)}
	switch {
	case v.Query.From != "":
		text, err := v.Query.SQL()
		if err != nil {
			return m, err
		}
		m.Type, m.Datasource = dashboard.VariableTypeQuery, database()
		m.Query, m.Definition = &dashboard.StringOrMap{String: &text}, &text
		m.Refresh = new(dashboard.VariableRefreshOnDashboardLoad)
		if v.Default != "" {
			m.Current = option(v.Default)
		}
	case len(v.Choices) > 0:
		m.Type = dashboard.VariableTypeCustom
		m.Query = &dashboard.StringOrMap{String: new(strings.Join(v.Choices, ","))}
		m.Current = option(v.first())
		for _, choice := range v.Choices {
			m.Options = append(m.Options, *option(choice))
		}
	default:
		m.Type = dashboard.VariableTypeTextbox
		m.Query, m.Current = &dashboard.StringOrMap{String: new(v.Default)}, option(v.Default)
	}
	return m, nil
}

// first is the choice that holds until another is made.
func (v Variable) first() string {
	if v.Default != "" || len(v.Choices) == 0 {
		return v.Default
	}
	return v.Choices[0]
}

func option(text string) *dashboard.VariableOption {
	return &dashboard.VariableOption{
		Text: dashboard.StringOrArrayOfString{String: &text}, Value: dashboard.StringOrArrayOfString{String: &text},
	}
}
