package deploy

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"text/template"

	"go.yaml.in/yaml/v4"

	"github.com/tensortap/tensortap/internal/credentials"
)

var chart = filepath.Join(root, "deploy", "kubernetes", "tensortap") //nolint:gochecknoglobals // a folder

// TestTheChartCanBeRead parses templates and values; helm itself reads them nowhere here.
func TestTheChartCanBeRead(t *testing.T) {
	t.Parallel()
	stub := func(...any) string { return "" }
	ofHelm := template.FuncMap{}
	for _, name := range []string{"include", "nindent", "toYaml", "toJson", "dict", "default", "quote", "keys", "sortAlpha", "join"} {
		ofHelm[name] = stub
	}
	if _, err := template.New("chart").Funcs(ofHelm).ParseGlob(filepath.Join(chart, "templates", "*")); err != nil {
		t.Error(err)
	}
	for _, file := range []string{filepath.Join(chart, "Chart.yaml"), filepath.Join(chart, "values.yaml"), filepath.Join(chart, "..", "sidecar.yaml")} {
		var content map[string]any
		if err := yaml.Unmarshal(read(t, file), &content); err != nil || len(content) == 0 {
			t.Errorf("%s: %v", file, err)
		}
	}
}

func read(tb testing.TB, path string) []byte {
	tb.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		tb.Fatal(err)
	}
	return text
}

// TestEachPlaceHasTheSameRoles holds the chart's roles against those of the compose file, and both against those that have rights.
func TestEachPlaceHasTheSameRoles(t *testing.T) {
	t.Parallel()
	var values struct {
		Roles map[string]any `yaml:"roles"`
	}
	if err := yaml.Unmarshal(read(t, filepath.Join(chart, "values.yaml")), &values); err != nil {
		t.Fatal(err)
	}
	composed := 0
	for name, s := range load(t, nil, "docker-compose.yml").Services {
		if s.Build == nil || len(s.Profiles) > 0 {
			continue
		}
		composed++
		if values.Roles[name] == nil || !slices.Contains(credentials.Roles(), name) {
			t.Errorf("role %s of the compose file has no place in the chart, or no rights", name)
		}
	}
	if len(values.Roles) != composed {
		t.Errorf("the chart has %d roles, the compose file %d", len(values.Roles), composed)
	}
}
