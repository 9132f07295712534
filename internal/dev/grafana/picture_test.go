package grafana_test

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/tensortap/tensortap/internal/dev/grafana"
	"github.com/tensortap/tensortap/internal/dev/grafana/asked"
	"github.com/tensortap/tensortap/internal/dev/grafana/picture"
	"github.com/tensortap/tensortap/internal/dev/testbed"
)

// TestDashboardsAreDrawn writes each dashboard of the scene as a picture into the folder that TENSORTAP_PICTURES names.
func TestDashboardsAreDrawn(t *testing.T) {
	t.Parallel()
	folder := os.Getenv("TENSORTAP_PICTURES")
	if folder == "" {
		t.Skip("SKIPPED: make pictures draws the dashboards")
	}
	d := testbed.StartDatabase(t)
	fillDefinitions(t, d)
	fillRun(t, d, goodRun, "0")
	fillRun(t, d, "bad", "1")
	db := openAsGrafana(t, d)
	chosen := choicesOfBad(t)
	chosen["run"] = []string{"bad"}
	r := asked.Request(chosen, [2]time.Time{time.Now().Add(-10 * time.Minute), time.Now()})
	r.Interval = 10 * time.Second
	for _, b := range grafana.Boards() {
		var panels []picture.Panel
		for _, p := range dashboards(t)[b.Name].Panels {
			drawn := picture.Panel{Title: strings.NewReplacer("$statistic", chosen["statistic"][0], "$by", chosen["by"][0]).Replace(p.Title), X: p.GridPos.X, Y: p.GridPos.Y, W: p.GridPos.W, H: p.GridPos.H}
			if p.OfDatabase() {
				f, err := p.Question(b.Name).Ask(t.Context(), db, r)
				if err != nil {
					t.Fatal(err)
				}
				into(&f, &drawn, &p)
				panels = append(panels, drawn)
			}
		}
		if err := os.WriteFile(filepath.Join(folder, "grafana-"+b.Name+".svg"), []byte(picture.Draw("tensortap: "+b.Title, panels)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// into gives the answer to its picture.
func into(f *asked.Frame, drawn *picture.Panel, p *asked.Panel) {
	switch p.Type {
	case "timeseries", "trend":
		drawn.Lines = points(f)
		drawn.Log = p.FieldConfig.Defaults.Custom.ScaleDistribution.Type == "log"
	default:
		drawn.Big, drawn.Columns = p.Type == "stat", f.Columns
		for _, row := range f.Rows {
			var texts []string
			for _, value := range row {
				texts = append(texts, short(asked.Text(value)))
			}
			drawn.Rows = append(drawn.Rows, texts)
		}
	}
}

// points are lines: the first column is the place, the last the value, and the texts between name the line.
func points(f *asked.Frame) map[string][]picture.Point {
	lines := map[string][]picture.Point{}
	last := len(f.Columns) - 1
	for _, row := range f.Rows {
		place := asked.Number(row[0])
		if at, ok := row[0].(time.Time); ok {
			place = math.Round(time.Until(at).Seconds())
		}
		var names []string
		for _, name := range row[1:last] {
			names = append(names, asked.Text(name))
		}
		name := strings.Join(names, " ")
		lines[name] = append(lines[name], picture.Point{X: place, Y: asked.Number(row[last])})
	}
	return lines
}

// short is a long fraction in five digits, and a time to the second.
func short(value string) string {
	if n, err := strconv.ParseFloat(value, 64); err == nil && strings.Contains(value, ".") {
		return fmt.Sprintf("%.5g", n)
	}
	if before, _, found := strings.Cut(value, " +0000 UTC"); found {
		before, _, _ = strings.Cut(before, ".")
		return before
	}
	return value
}
