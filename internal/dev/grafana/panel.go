package grafana

import (
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/grafana/grafana-foundation-sdk/go/cog/variants"
	"github.com/grafana/grafana-foundation-sdk/go/common"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/grafana/grafana-foundation-sdk/go/logs"
	"github.com/grafana/grafana-foundation-sdk/go/stat"
	"github.com/grafana/grafana-foundation-sdk/go/table"
	"github.com/grafana/grafana-foundation-sdk/go/timeseries"
	"github.com/grafana/grafana-foundation-sdk/go/trend"
)

// Forms of an answer, as the data source numbers them.
const (
	formSeries = 0
	formTable  = 1
	formLogs   = 2
)

// draw is the panel without its place.
func (p Panel) draw() (*dashboard.Panel, error) {
	drawn := &dashboard.Panel{Title: new(p.Title), FieldConfig: dashboard.NewFieldConfigSource()}
	if p.About != "" {
		drawn.Description = new(p.About)
	}
	if p.Unit != "" {
		drawn.FieldConfig.Defaults.Unit = new(p.Unit)
	}
	p.shape(drawn)
	if p.Metric != "" {
		p.askMetrics(drawn)
		return drawn, nil
	}
	return drawn, p.askDatabase(drawn)
}

func (p Panel) askMetrics(drawn *dashboard.Panel) {
	drawn.Datasource = &common.DataSourceRef{Type: new(metricsType), Uid: new(metricsUID)}
	drawn.Targets = []variants.Dataquery{variants.UnknownDataquery{
		"datasource": drawn.Datasource, "refId": "A", "expr": p.Metric, "legendFormat": p.Legend, "range": true,
	}}
}

func (p Panel) askDatabase(drawn *dashboard.Panel) error {
	text, err := p.Query.SQL()
	if err != nil {
		return err
	}
	drawn.Datasource = database()
	drawn.Targets = []variants.Dataquery{question(text, p.form())}
	return nil
}

// question is a query as the data source takes it.
func question(text string, form int) variants.UnknownDataquery {
	return variants.UnknownDataquery{
		"datasource": database(), "refId": "A", "editorType": "sql", "pluginVersion": PluginVersion, "rawSql": text, "format": form,
		"queryType": [...]string{"timeseries", "table", "logs"}[form],
	}
}

func (p Panel) form() int {
	switch p.Drawing {
	case OverTime:
		return formSeries
	case Lines:
		return formLogs
	default:
		return formTable
	}
}

// shape sets what is particular to a drawing.
func (p Panel) shape(drawn *dashboard.Panel) {
	switch p.Drawing {
	case OverTime:
		drawn.Type = "timeseries"
		drawn.Options = timeseries.Options{Legend: legend(), Tooltip: tooltip()}
		drawn.FieldConfig.Defaults.Custom = p.line()
	case OverSteps:
		drawn.Type = "trend"
		drawn.Options = trend.Options{Legend: legend(), Tooltip: tooltip(), XField: new("step")}
		drawn.FieldConfig.Defaults.Custom = p.line()
		drawn.Transformations = linesOfSteps()
	case Figures:
		drawn.Type = "stat"
		drawn.Options = figures()
	case Lines:
		drawn.Type = "logs"
		drawn.Options = logs.Options{
			ShowTime: true, WrapLogMessage: true, EnableLogDetails: true,
			SortOrder: common.LogsSortOrderDescending, DedupStrategy: common.LogsDedupStrategyNone,
		}
	case Table:
		drawn.Type = "table"
		drawn.Options = table.Options{ShowHeader: true, CellHeight: new(common.TableCellHeightSm)}
		drawn.FieldConfig.Defaults.Custom = common.TableFieldOptions{Align: common.FieldTextAlignmentAuto, Inspect: true, Filterable: new(true)}
		drawn.FieldConfig.Overrides = p.columns()
	}
}

func legend() common.VizLegendOptions {
	return common.VizLegendOptions{DisplayMode: common.LegendDisplayModeList, Placement: common.LegendPlacementBottom, ShowLegend: true, Calcs: []string{}}
}

func tooltip() common.VizTooltipOptions {
	return common.VizTooltipOptions{Mode: common.TooltipDisplayModeMulti, Sort: common.SortOrderDescending}
}

func figures() *stat.Options {
	options := stat.NewOptions()
	options.GraphMode, options.TextMode = common.BigValueGraphModeNone, common.BigValueTextModeValueAndName
	options.ReduceOptions = common.ReduceDataOptions{Values: new(true), Calcs: []string{}}
	options.Orientation = common.VizOrientationAuto
	return options
}

func (p Panel) line() common.GraphFieldConfig {
	line := common.GraphFieldConfig{
		DrawStyle: new(common.GraphDrawStyleLine), LineWidth: new(1.), ShowPoints: new(common.VisibilityModeAuto),
		SpanNulls: &common.BoolOrFloat64{Bool: new(true)},
	}
	if p.Logarithmic {
		line.ScaleDistribution = &common.ScaleDistributionConfig{Type: common.ScaleDistributionLog, Log: new(10.)}
	}
	return line
}

// linesOfSteps makes one column of each line, beside that of the steps: the panel takes no other form.
func linesOfSteps() []dashboard.DataTransformerConfig {
	return []dashboard.DataTransformerConfig{
		{Id: "partitionByValues", Options: map[string]any{"fields": []string{"line"}, "keepFields": false, "naming": map[string]any{"asLabels": true}}},
		{Id: "joinByField", Options: map[string]any{"byField": "step", "mode": "outer"}},
	}
}

// columns says how those columns of a table are shown that are more than numbers and texts.
func (p Panel) columns() []dashboard.DashboardFieldConfigSourceOverrides {
	var overrides []dashboard.DashboardFieldConfigSourceOverrides
	add := func(column, property string, value any) {
		overrides = append(overrides, dashboard.DashboardFieldConfigSourceOverrides{
			Matcher:    dashboard.MatcherConfig{Id: "byName", Options: column},
			Properties: []dashboard.DynamicConfigValue{{Id: property, Value: value}},
		})
	}
	for _, column := range p.Bytes {
		add(column, "unit", "bytes")
	}
	for column, links := range p.linksByColumn() {
		add(column, "links", links)
	}
	return overrides
}

// linksByColumn yields the columns in order.
func (p Panel) linksByColumn() func(func(string, []map[string]any) bool) {
	byColumn := map[string][]map[string]any{}
	for _, l := range p.Links {
		byColumn[l.Column] = append(byColumn[l.Column], map[string]any{"title": "to " + l.Board, "url": l.url()})
	}
	return func(yield func(string, []map[string]any) bool) {
		for _, column := range slices.Sorted(maps.Keys(byColumn)) {
			if !yield(column, byColumn[column]) {
				return
			}
		}
	}
}

// url is the link's address, with the time that is shown.
func (l Link) url() string {
	parts := []string{"/d/" + uid(l.Board) + "?${__url_time_range}"}
	for _, name := range slices.Sorted(maps.Keys(l.Passes)) {
		parts = append(parts, "var-"+name+"="+passed(l.Passes[name]))
	}
	return strings.Join(parts, "&")
}

// passed is a value in an address: a column of the row, a $variable, or =text.
func passed(from string) string {
	switch {
	case from == "":
		return ""
	case strings.HasPrefix(from, "$"):
		return "${" + from[1:] + ":percentencode}"
	case strings.HasPrefix(from, "="):
		return url.QueryEscape(from[1:])
	default:
		return "${__data.fields." + from + ":percentencode}"
	}
}
