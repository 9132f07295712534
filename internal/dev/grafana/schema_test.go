package grafana_test

import (
	"strings"
	"testing"

	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/grafana/grafana-foundation-sdk/go/logs"
	"github.com/grafana/grafana-foundation-sdk/go/stat"
	"github.com/grafana/grafana-foundation-sdk/go/table"
	"github.com/grafana/grafana-foundation-sdk/go/timeseries"
	"github.com/grafana/grafana-foundation-sdk/go/trend"

	"github.com/tensortap/tensortap/internal/dev/grafana"
)

// Grafana's published schema knows every field of the dashboards and of the options of their panels, and misses none.
func TestDashboardsAreOfGrafanasSchema(t *testing.T) {
	t.Parallel()
	runtime := cog.NewRuntime()
	runtime.RegisterPanelcfgVariant(timeseries.VariantConfig())
	runtime.RegisterPanelcfgVariant(trend.VariantConfig())
	runtime.RegisterPanelcfgVariant(table.VariantConfig())
	runtime.RegisterPanelcfgVariant(stat.VariantConfig())
	runtime.RegisterPanelcfgVariant(logs.VariantConfig())
	for _, b := range grafana.Boards() {
		text, err := b.Dashboard()
		if err != nil {
			t.Fatal(err)
		}
		if wrong := faults(text); wrong != "" {
			t.Errorf("dashboard %s: %s", b.Name, wrong)
		}
		for _, field := range []string{`"title": "`, `"xField": "`, `"lineWidth": `} {
			spoilt := strings.Replace(string(text), field, `"nonsense": 1, `+field, 1)
			if wrong := faults([]byte(spoilt)); spoilt != string(text) && !strings.Contains(wrong, "nonsense") {
				t.Errorf("dashboard %s with a field that is unknown, before %s: %q, want that field", b.Name, field, wrong)
			}
		}
	}
}

// faults are what the schema finds. The error of a panel without faults is none that is nil, but it is empty.
func faults(text []byte) string {
	d := dashboard.NewDashboard() // version 1, which Grafana reads from files of every version
	if err := d.UnmarshalJSONStrict(text); err != nil {
		return err.Error()
	}
	return ""
}
