package health

import (
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"

	"github.com/tensortap/tensortap/e2e/internal/program"
	"github.com/tensortap/tensortap/internal/dev/testbed"
)

// shipped is the folder of Prometheus's files.
func shipped(parts ...string) string {
	return filepath.Join(append([]string{"..", "..", "deploy", "prometheus"}, parts...)...)
}

func TestPromtoolTakesTheShippedFiles(t *testing.T) {
	t.Parallel()
	promtool := tool(t, "promtool")
	for _, args := range [][]string{
		{"check", "config", shipped("prometheus.yml")},
		{"test", "rules", shipped("tests", "alerts_test.yml")},
	} {
		if said, err := exec.CommandContext(t.Context(), promtool, args...).CombinedOutput(); err != nil || strings.Contains(string(said), "FAILED") { //nolint:gosec // Debian's
			t.Errorf("promtool %q: %v\n%s", args, err, said)
		}
	}
}

// rules are the groups of a file of rules.
type rules struct {
	Groups []struct {
		Rules []struct{ Alert, Record, Expr string }
	}
}

func TestEachAlertHasAPlantedAndAHealthyCase(t *testing.T) {
	t.Parallel()
	var alerts rules
	read(t, shipped("rules", "alerts.yml"), &alerts)
	var cases struct {
		Tests []struct {
			Name           string
			AlertRuleTests []struct {
				Alertname string
				Expected  []any `yaml:"exp_alerts"`
			} `yaml:"alert_rule_test"`
		}
	}
	read(t, shipped("tests", "alerts_test.yml"), &cases)
	planted, healthy := map[string]bool{}, map[string]bool{}
	for _, c := range cases.Tests {
		for _, a := range c.AlertRuleTests {
			planted[a.Alertname] = planted[a.Alertname] || len(a.Expected) > 0
			healthy[a.Alertname] = healthy[a.Alertname] || c.Name == "healthy" && len(a.Expected) == 0
		}
	}
	count := 0
	for _, group := range alerts.Groups {
		for _, r := range group.Rules {
			count++
			if !planted[r.Alert] || !healthy[r.Alert] {
				t.Errorf("%s: planted case %t, healthy case %t", r.Alert, planted[r.Alert], healthy[r.Alert])
			}
		}
	}
	if count < 10 {
		t.Errorf("%d alerts", count)
	}
}

func read(tb testing.TB, path string, into any) {
	tb.Helper()
	text, err := os.ReadFile(path) //nolint:gosec // ours
	if err != nil {
		tb.Fatal(err)
	}
	if err := yaml.Unmarshal(text, into); err != nil {
		tb.Fatalf("%s: %v", path, err)
	}
}

// prometheusScrapes runs a Prometheus on the shipped files, on other targets and more often, and asks it.
func prometheusScrapes(t *testing.T, roots ...string) {
	t.Helper()
	server := tool(t, "prometheus")
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(shipped())); err != nil {
		t.Fatal(err)
	}
	targets := `- targets: ["` + strings.ReplaceAll(strings.Join(roots, `", "`), "http://", "") + `"]`
	write(t, filepath.Join(dir, "targets", "tensortap.yml"), targets)
	config, err := os.ReadFile(filepath.Join(dir, "prometheus.yml")) //nolint:gosec // ours
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "prometheus.yml"), strings.NewReplacer("scrape_interval: 15s", "scrape_interval: 5s", "evaluation_interval: 15s", "evaluation_interval: 1s").Replace(string(config)))
	address := testbed.FreeAddress(t)
	cmd := exec.CommandContext(t.Context(), server, "--config.file="+filepath.Join(dir, "prometheus.yml"), "--storage.tsdb.path="+filepath.Join(dir, "data"), "--web.listen-address="+address, "--log.level=warn") //nolint:gosec // Debian's
	var said testbed.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	program.EndWithTests(cmd)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })

	up := fmt.Sprintf("sum(up{job=\"tensortap\"}) == %d and count(tensortap_build_info) == %[1]d", len(roots))
	if err := await("Prometheus to have scraped all", func() bool { return len(ask(t, address, up)) > 0 }); err != nil {
		t.Fatalf("%v\n%s", err, &said)
	}
	for _, query := range []string{
		`tensortap_stream_messages{stream="TAP"} > 0`, `count by (role) (tensortap_build_info{role="judge"})`, `tensortap_agent_spools == 0`, `go_goroutines > 0`,
	} {
		if len(ask(t, address, query)) == 0 {
			t.Errorf("Prometheus answers nothing to %s", query)
		}
	}
	if err := await("the recording rules", func() bool {
		return len(ask(t, address, `job_consumer:tensortap_lag_messages:max{consumer="clickhouse"} == 0`)) > 0
	}); err != nil {
		t.Errorf("%v\n%s", err, &said)
	}
	if firing := ask(t, address, `ALERTS{alertstate="firing", alertname!="TensortapDiskLow"}`); len(firing) > 0 { // that of whoever runs the test
		t.Errorf("of a system that is well: %v", firing)
	}
	everyMetricOfRulesIsThere(t, address)
}

func write(tb testing.TB, path, text string) {
	tb.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		tb.Fatal(err)
	}
}

// ask is the labels of the answer to a query; empty while the server does not answer.
func ask(tb testing.TB, address, query string) []map[string]string {
	tb.Helper()
	_, text := page(tb, "http://"+address+"/api/v1/query?query="+url.QueryEscape(query))
	var answer struct {
		Data struct {
			Result []struct{ Metric map[string]string }
		}
	}
	if json.Unmarshal([]byte(text), &answer) != nil {
		return nil
	}
	var found []map[string]string
	for _, r := range answer.Data.Result {
		found = append(found, r.Metric)
	}
	return found
}

// everyMetricOfRulesIsThere holds the names in the rules against what was scraped: a rule over a name that was changed is silent.
func everyMetricOfRulesIsThere(t *testing.T, address string) {
	t.Helper()
	name := regexp.MustCompile(`[a-z_:]*tensortap_[a-z0-9_:]+`)
	var asked []string
	for _, file := range []string{"alerts.yml", "recording.yml"} {
		var all rules
		read(t, shipped("rules", file), &all)
		for _, group := range all.Groups {
			for _, r := range group.Rules {
				asked = append(asked, name.FindAllString(r.Expr, -1)...)
			}
		}
	}
	slices.Sort(asked)
	for _, metric := range slices.Compact(asked) {
		if err := await(metric, func() bool { return len(ask(t, address, metric)) > 0 }); err != nil {
			t.Errorf("a rule asks for what no process tells: %v", err)
		}
	}
}
