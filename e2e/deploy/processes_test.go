package deploy

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/tensortap/tensortap/e2e/internal/program"
)

// known says whether the program has the command: a role that another part brings is run once it is there.
func known(tb testing.TB, role string) bool {
	tb.Helper()
	return program.Run(tb, program.Setting{}, role, "--help").Status == 0
}

// startRoles starts the roles of the file, and the system that stores where there is no role for that yet.
func (f *fleet) startRoles(tb testing.TB) map[string]*program.Up {
	tb.Helper()
	roles := map[string]*program.Up{}
	for name, s := range f.project.Services {
		if s.Build == nil || len(s.Profiles) > 0 {
			continue
		}
		switch {
		case known(tb, s.Command[0]):
			roles[name] = f.begin(f.command(&s))
		case name == "consume":
			cmd := f.command(&s, "up", "--check-every", "0")
			cmd.Env = append(cmd.Env, "TENSORTAP_CREDS="+filepath.Join(f.secrets, "admin.nk"))
			roles[name] = f.begin(cmd)
		default:
			tb.Logf("the program has no command %s yet", name)
		}
	}
	return roles
}

// TestTheDemoRunsAsTheComposeFileSays runs servers, roles and demo, until the judge has said that the two runs diverge.
func TestTheDemoRunsAsTheComposeFileSays(t *testing.T) {
	t.Parallel()
	f := startFleet(t)
	roles := f.startRoles(t)
	for name, role := range roles {
		t.Cleanup(func() {
			if err := role.Stop(); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
	err := program.Await(program.Patience, "the tables", func() bool {
		status, _ := f.query("writer", "SELECT 1 FROM tap.judged_steps LIMIT 1")
		return status == http.StatusOK
	})
	if err != nil {
		t.Fatalf("%v\n%s", err, roles["consume"].Stderr)
	}
	for _, name := range []string{"demo-good", "demo-baseline", "demo-bad"} {
		f.run(name)
	}
	var answer string
	err = program.Await(program.Patience, "a verdict on demo-bad", func() bool {
		answer = f.as("reader.nk", "clickhouse-reader.dsn", "query", "SELECT countIf(verdict = 'diverged') AS n FROM tap_store.verdict", "--output", "csv")
		n, err := strconv.Atoi(program.LastLine(answer))
		return err == nil && n > 0
	})
	if err != nil {
		t.Fatalf("%v: %s\n%s", err, answer, roles["judge"].Stderr)
	}
	if _, version := f.query("reader", "SELECT version()"); !strings.HasPrefix(version, versions(t)["CLICKHOUSE_VERSION"]+".") {
		t.Errorf("deploy/versions.env runs ClickHouse %s, the tests %s", versions(t)["CLICKHOUSE_VERSION"], version)
	}
	f.requirePage(t, roles["serve"])
	f.requireDiscreet(t, roles)
	f.requireRights(t)
}

// requirePage has the role of the page compare the runs for who has a token, and for nobody else.
func (f *fleet) requirePage(t *testing.T, role *program.Up) {
	t.Helper()
	var page string
	err := program.Await(program.Patience, "the page", func() bool {
		found := regexp.MustCompile(`serves the page at (http://\S+/),`).FindStringSubmatch(role.Stdout.String())
		if found != nil {
			page = found[1]
		}
		return found != nil
	})
	if err != nil {
		t.Fatalf("%v\n%s", err, role.Stderr)
	}
	compare := page + "api/v1/compare?problem=demo-bad&bench=demo-good"
	for token, want := range map[string]int{f.token: http.StatusOK, "": http.StatusUnauthorized, f.token + "x": http.StatusUnauthorized} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, compare, http.NoBody)
		f.must(err)
		if token != "" {
			request.Header.Set("Authorization", "Bearer "+token)
		}
		answer, err := http.DefaultClient.Do(request)
		f.must(err)
		text, err := io.ReadAll(answer.Body)
		f.must(errors.Join(err, answer.Body.Close()))
		if answer.StatusCode != want || (want == http.StatusOK) != strings.Contains(string(text), `"verdict": "differs"`) {
			t.Errorf("with a token of %d characters: status %d, want %d: %.500s", len(token), answer.StatusCode, want, text)
		}
	}
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
	if text := strings.ToLower(said.String()); strings.Contains(text, "permissions violation") {
		t.Errorf("a role lacks a right:\n%s", text)
	}
}
