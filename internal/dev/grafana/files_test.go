package grafana_test

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"

	"github.com/tensortap/tensortap/internal/dev/grafana"
	"github.com/tensortap/tensortap/internal/dev/grafana/asked"
)

const folder = "../../../deploy/grafana"

func TestFilesAreThoseThatAreDeclared(t *testing.T) {
	t.Parallel()
	want, err := grafana.Files()
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range want {
		got, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil || !bytes.Equal(got, content) {
			t.Errorf("deploy/grafana/%s is not what is declared (%v): make generate", name, err)
		}
	}
	for _, written := range []string{"dashboards", "datasources", "alerting"} {
		_ = fs.WalkDir(os.DirFS(filepath.Join(folder, written)), ".", func(name string, entry fs.DirEntry, err error) error {
			if _, known := want[written+"/"+name]; err == nil && !entry.IsDir() && !known {
				t.Errorf("deploy/grafana/%s/%s is declared nowhere", written, name)
			}
			return err
		})
	}
}

// dashboards are those on the disk, by name.
func dashboards(tb testing.TB) map[string]asked.Dashboard {
	tb.Helper()
	found, err := asked.Dashboards(filepath.Join(folder, "dashboards"))
	if err != nil {
		tb.Fatal(err)
	}
	return found
}

func TestEveryVariableThatIsUsedOrPassedExists(t *testing.T) {
	t.Parallel()
	boards := map[string]grafana.Board{}
	for _, b := range grafana.Boards() {
		boards[b.Name] = b
	}
	for _, b := range boards {
		for _, p := range b.Panels {
			for _, l := range p.Links {
				target, found := boards[l.Board]
				if !found {
					t.Errorf("panel %q of %s leads to dashboard %s, which is not there", p.Title, b.Name, l.Board)
				}
				for name := range l.Passes {
					if !has(target, name) {
						t.Errorf("panel %q of %s passes variable %s to %s, which has none", p.Title, b.Name, name, l.Board)
					}
				}
			}
		}
		for name, text := range texts(t, b.Name) {
			for _, used := range variablesIn(text) {
				if !has(b, used) {
					t.Errorf("%s of %s uses variable %s, which is not there", name, b.Name, used)
				}
			}
		}
	}
}

func has(b grafana.Board, variable string) bool {
	for _, v := range b.Variables {
		if v.Name == variable {
			return true
		}
	}
	return false
}

// texts are the queries of a dashboard, by what asks them.
func texts(tb testing.TB, board string) map[string]string {
	tb.Helper()
	m := dashboards(tb)[board]
	found := map[string]string{}
	for _, p := range m.Panels {
		found["panel "+p.Title] = p.Targets[0].RawSQL
	}
	for _, v := range m.Templating.List {
		if v.Type == "query" {
			found["variable "+v.Name] = v.Query
		}
	}
	return found
}

// A value that may be anything stands in quotes, percent-encoded, so that it ends no text.
func TestEveryVariableIsDecodedByTheDatabase(t *testing.T) {
	t.Parallel()
	decoded := regexp.MustCompile(`decodeURLComponent\('\$\{[a-z_]+:percentencode\}'\)`)
	for _, b := range grafana.Boards() {
		for name, text := range texts(t, b.Name) {
			if rest := decoded.ReplaceAllString(text, ""); regexp.MustCompile(`\$(\{|\[|[a-zA-Z])`).MatchString(rest) {
				t.Errorf("%s of %s puts a variable into its query as it is:\n%s", name, b.Name, rest)
			}
		}
	}
}

func variablesIn(text string) []string {
	var names []string
	for _, part := range strings.Split(text, "${")[1:] {
		name, _, _ := strings.Cut(part, ":")
		names = append(names, name)
	}
	return names
}

// rules are the alert rules on the disk: their uids and queries.
func rules(tb testing.TB) map[string]rule {
	tb.Helper()
	text, err := os.ReadFile(filepath.Join(folder, "alerting/rules.yaml"))
	if err != nil {
		tb.Fatal(err)
	}
	var file struct {
		Groups []struct {
			Rules []rule `yaml:"rules"`
		} `yaml:"groups"`
	}
	if err := yaml.Unmarshal(text, &file); err != nil {
		tb.Fatal(err)
	}
	found := map[string]rule{}
	for _, r := range file.Groups[0].Rules {
		found[strings.TrimPrefix(r.UID, "tensortap-")] = r
	}
	return found
}

type rule struct {
	UID         string            `yaml:"uid"`
	Annotations map[string]string `yaml:"annotations"`
	Data        []struct {
		Range struct {
			From int `yaml:"from"`
		} `yaml:"relativeTimeRange"`
		Model struct {
			RawSQL     string `yaml:"rawSql"`
			Conditions []struct {
				Evaluator struct {
					Params []float64 `yaml:"params"`
				} `yaml:"evaluator"`
			} `yaml:"conditions"`
		} `yaml:"model"`
	} `yaml:"data"`
}
