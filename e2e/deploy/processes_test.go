package deploy

import (
	"bytes"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/tensortap/tensortap/e2e/internal/program"
)

// startRoles starts the roles of the file.
func (f *fleet) startRoles(t *testing.T) map[string]*program.Up {
	t.Helper()
	roles := map[string]*program.Up{}
	for name, s := range f.project.Services {
		if s.Build == nil || len(s.Profiles) > 0 {
			continue
		}
		role := f.begin(f.command(&s))
		t.Cleanup(func() { f.stop(t, name, role) })
		roles[name] = role
	}
	return roles
}

// TestTheDemoRunsAsTheComposeFileSays runs servers, roles and demo, until each panel of Grafana shows what is planted for it.
func TestTheDemoRunsAsTheComposeFileSays(t *testing.T) {
	t.Parallel()
	f := startFleet(t)
	roles := f.startRoles(t)
	err := program.Await(program.Patience, "the tables", func() bool {
		status, _ := f.query("writer", "SELECT 1 FROM tap.judged_steps LIMIT 1")
		return status == http.StatusOK
	})
	if err != nil {
		t.Fatalf("%v\n%s", err, roles["consume"].Stderr)
	}
	prometheus := f.startPrometheus(t, roles)
	f.startDemo(t)
	if _, version := f.query("reader", "SELECT version()"); !strings.HasPrefix(version, versions(t)["CLICKHOUSE_VERSION"]+".") {
		t.Errorf("deploy/versions.env runs ClickHouse %s, the tests %s", versions(t)["CLICKHOUSE_VERSION"], version)
	}
	f.openGrafana(t, prometheus).requireFacts()
	f.requirePage(t, roles["serve"])
	f.requireDiscreet(t, roles)
	f.requireRights(t)
}

// query asks ClickHouse as one of its users.
func (f *fleet) query(user, sql string) (status int, answer string) {
	f.tb.Helper()
	password, err := os.ReadFile(filepath.Join(f.secrets, "clickhouse-"+user+".password"))
	f.must(err)
	return f.ask("http://"+f.clickhouse+"/?query="+url.QueryEscape(sql), user, string(password))
}

// requireRights tries what each user of ClickHouse may not do.
func (f *fleet) requireRights(t *testing.T) {
	t.Helper()
	for sql, user := range map[string]string{
		"SELECT count() FROM tap.runs": "reader", "SELECT count() FROM tap_store.tensor": "reader", "SELECT count() FROM system.parts": "reader",
		"SELECT 1 SETTINGS max_execution_time = 5": "reader",
	} {
		if status, answer := f.query(user, sql); status != http.StatusOK {
			t.Errorf("%s may not %s: %s", user, sql, answer)
		}
	}
	for _, refused := range []struct{ user, sql string }{
		{"reader", "DROP TABLE tap_store.tensor"},
		{"reader", "INSERT INTO tap_store.run (name) VALUES ('x')"},
		{"reader", "SELECT 1 SETTINGS max_execution_time = 600"},
		{"reader", "SELECT 1 SETTINGS readonly = 0"},
		{"reader", "SELECT * FROM file('/etc/passwd', 'LineAsString')"},
		{"reader", "SELECT * FROM url('http://127.0.0.1:1/', 'LineAsString')"},
		{"writer", "SELECT * FROM file('/etc/passwd', 'LineAsString')"},
		{"writer", "SELECT * FROM url('http://127.0.0.1:1/', 'LineAsString')"},
		{"writer", "CREATE DATABASE another"},
		{"writer", "CREATE USER another"},
		{"writer", "SYSTEM SHUTDOWN"},
	} {
		if status, answer := f.query(refused.user, refused.sql); status == http.StatusOK {
			t.Errorf("%s may %s: %s", refused.user, refused.sql, answer)
		}
	}
	for user, password := range map[string]string{"reader": "", "writer": "wrong", "default": "x", "nobody": ""} {
		if status, answer := f.ask("http://"+f.clickhouse+"/?query=SELECT+1", user, password); status == http.StatusOK {
			t.Errorf("%s gets in with password %q: %s", user, password, answer)
		}
	}
}

// requireDiscreet looks for secrets and for refusals in all that was said, and for secrets in the list of processes.
func (f *fleet) requireDiscreet(t *testing.T, roles map[string]*program.Up) {
	t.Helper()
	var said bytes.Buffer
	for _, buffer := range f.said {
		_, _ = said.WriteString(buffer.String())
	}
	for _, role := range roles {
		for _, file := range []string{"cmdline", "environ"} {
			text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(role.Cmd.Process.Pid), file))
			f.must(err)
			_, _ = said.Write(text)
		}
	}
	for _, secret := range f.secretTexts() {
		if bytes.Contains(said.Bytes(), secret) {
			t.Errorf("a secret is shown: %.4s…", secret)
		}
	}
	for line := range strings.Lines(said.String()) {
		// An agent that comes before the consumers have made the bucket of runs' fates may not make it, and says that it waits for none.
		if refused := strings.ToLower(line); strings.Contains(refused, "permissions violation") && !strings.Contains(refused, `"$js.api.info"`) {
			t.Errorf("a role lacks a right: %s", line)
		}
	}
}
