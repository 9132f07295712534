package deploy

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tensortap/tensortap/e2e/internal/program"
	"github.com/tensortap/tensortap/internal/dev/testbed"
)

// startPrometheus runs the service's command over its configuration, which has it ask the roles where they listen here, and more
// often. It returns its address.
func (f *fleet) startPrometheus(t *testing.T, roles map[string]*program.Up) string {
	t.Helper()
	server, err := exec.LookPath("prometheus")
	if err != nil {
		testbed.Needed(t, "prometheus is not installed: apt-get install prometheus")
	}
	s := f.service("prometheus")
	c := f.lay(s)
	change := func(path string, pairs ...string) {
		path = filepath.Join(c.folder, path)
		text, err := os.ReadFile(path)
		f.must(err)
		f.must(os.WriteFile(path, []byte(strings.NewReplacer(pairs...).Replace(string(text))), 0o600))
	}
	var addresses []string
	for name, role := range roles {
		addresses = append(addresses, `"`+name+`:9464"`, `"`+metricsOf(t, name, role)+`"`)
	}
	change("/etc/prometheus/targets/tensortap.yml", addresses...)
	change("/etc/prometheus/prometheus.yml", "interval: 15s", "interval: 5s")
	address := testbed.FreeAddress(t)
	args := []string{"--web.listen-address=" + address}
	for _, arg := range s.Command {
		args = append(args, c.here(arg))
	}
	cmd := exec.CommandContext(t.Context(), server, args...) //nolint:gosec // Debian's
	program.EndWithTests(cmd)
	up := f.begin(cmd)
	t.Cleanup(func() { _ = up.Kill() })
	return address
}

// metricsOf is where the role tells its metrics.
func metricsOf(t *testing.T, name string, role *program.Up) (address string) {
	t.Helper()
	err := program.Await(program.Patience, name+" to tell where its metrics are", func() bool {
		_, after, found := strings.Cut(role.Stderr.String(), "metrics at http://")
		var whole bool
		address, _, whole = strings.Cut(after, "/")
		return found && whole
	})
	if err != nil {
		t.Fatalf("%v\n%s", err, role.Stderr)
	}
	return address
}

// askPrometheus is the lines of a panel of metrics, one a row, with their latest values.
func askPrometheus(t *testing.T, address, expression string) string {
	t.Helper()
	query := strings.ReplaceAll(expression, "$__rate_interval", "5m")
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+"/api/v1/query?query="+url.QueryEscape(query), http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err.Error()
	}
	defer func() { _ = response.Body.Close() }()
	var answer struct {
		Data struct {
			Result []struct {
				Metric map[string]string
				Value  [2]any
			}
		}
	}
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
		return err.Error()
	}
	var lines strings.Builder
	for _, line := range answer.Data.Result {
		fmt.Fprintf(&lines, "%v above nothing: %t\n", line.Metric, line.Value[1] != "0" && line.Value[1] != "NaN")
	}
	return lines.String()
}
