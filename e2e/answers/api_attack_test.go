package answers

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/tensortap/tensortap/e2e/internal/program"
	"github.com/tensortap/tensortap/internal/dev/recorded"
)

// TestTheAPIAnswersNoPageOfAnotherSite tries what a browser sends for one, and for a name that was pointed at this machine.
func TestTheAPIAnswersNoPageOfAnotherSite(t *testing.T) {
	t.Parallel()
	u := program.Shared(t)
	api := apiOf(t, u)
	home := strings.TrimSuffix(api, "/api/v1")
	for want, cases := range map[int][][]string{
		http.StatusOK: {
			{}, {"Sec-Fetch-Site: same-origin"}, {"Sec-Fetch-Site: none"}, {"Origin: " + home}, {"Host: localhost"}, {"Host: [::1]:7070"},
		},
		http.StatusForbidden: {
			{"Host: evil.example"},
			{"Host: evil.example:7070"},
			{"Host: localhost.evil.example"},
			{"Host: 127.0.0.1.evil.example"},
			{"Origin: http://evil.example"},
			{"Origin: null"},
			{"Origin: http://127.0.0.1:1"},
			{"Origin: http://localhost"},
			{"Sec-Fetch-Site: cross-site"},
			{"Sec-Fetch-Site: same-site"},
			{"Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: document"},
		},
	} {
		for _, headers := range cases {
			if got := get(t, api+"/who", headers...); got.status != want {
				t.Errorf("%q: status %d, want %d: %s", headers, got.status, want, got.body)
			}
		}
	}
	if link := get(t, home+"/", "Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: document"); link.status == http.StatusForbidden {
		t.Error("a link to the page is not followed")
	}
	for _, path := range []string{"/sql", "/control/stop", "/login"} {
		for _, media := range []string{"text/plain", "application/x-www-form-urlencoded", "multipart/form-data"} {
			if got := exchange(t, http.MethodPost, api+path, "{}", "Content-Type: "+media); got.status != http.StatusUnsupportedMediaType {
				t.Errorf("%s of %s: status %d", path, media, got.status)
			}
		}
	}
	got := get(t, home+"/")
	policy := got.header.Get("Content-Security-Policy")
	for _, words := range []string{"default-src 'none'", "script-src 'self';", "frame-ancestors 'none'", "base-uri 'none'"} {
		if !strings.Contains(policy, words) {
			t.Errorf("the policy has no %q: %s", words, policy)
		}
	}
	if got.header.Get("X-Content-Type-Options") != "nosniff" || got.header.Get("Referrer-Policy") != "no-referrer" {
		t.Errorf("headers %v", got.header)
	}
}

func sqlBody(query, format string, limit int) string {
	text, err := json.Marshal(map[string]any{"query": query, "format": format, "limit": limit})
	if err != nil {
		return err.Error()
	}
	return string(text)
}

func TestSQLOfTheAPIReadsAloneAndWithinItsLimits(t *testing.T) {
	t.Parallel()
	u := program.PublishOnce(t, "B00_golden_mix")
	api := apiOf(t, u)
	const rows = "{\"rows\":[\n{\"a\":\"NaN\",\"b\":\"-Infinity\",\"c\":null,\"d\":\"<script>\"}\n]}\n"
	if got := exchange(t, http.MethodPost, api+"/sql", sqlBody("SELECT nan AS a, -inf AS b, NULL AS c, '<script>' AS d", "json", 0)); got.status != http.StatusOK ||
		strings.NewReplacer(`\u003c`, "<", `\u003e`, ">").Replace(got.body) != rows {
		t.Errorf("status %d: %s", got.status, got.body)
	}
	for _, query := range []string{"SELECT number FROM numbers(10)", "SELECT number FROM numbers(10) SETTINGS limit = 0", "SELECT number FROM numbers(10) SETTINGS limit = 9, max_execution_time = 0"} {
		if got := exchange(t, http.MethodPost, api+"/sql", sqlBody(query, "csv", 2)); got.body != "number\n0\n1\n" {
			t.Errorf("%s: status %d: %s", query, got.status, got.body)
		}
	}
	for _, format := range []string{"arrow", "parquet", "csv", "json"} {
		if got := exchange(t, http.MethodPost, api+"/sql", sqlBody("SELECT 1 AS a WHERE 0", format, 0)); got.status != http.StatusOK || got.body == "" {
			t.Errorf("no rows as %s: status %d of %d bytes: %.300s", format, got.status, len(got.body), got.body)
		}
	}
	for _, query := range []string{
		"", " ", "nonsense", "SELECT 1; SELECT 2", "DROP TABLE tap_store.run", "INSERT INTO tap_store.run (name) VALUES ('x')", "TRUNCATE TABLE tap_store.run", "CREATE TABLE tap_store.x (a UInt8) ENGINE = Memory",
		"CREATE TEMPORARY TABLE x (a UInt8)", "SET readonly = 0", "SELECT 1 SETTINGS readonly = 0", "SYSTEM SHUTDOWN", "KILL QUERY WHERE 1", "/* x */ KILL QUERY WHERE 1", "-- SELECT\nKILL QUERY WHERE 1", "ALTER TABLE tap_store.run DELETE WHERE 1",
		"SELECT * FROM file('/etc/passwd', LineAsString)", "SELECT file('/etc/passwd')", "SELECT * FROM url('http://127.0.0.1:1/', LineAsString)", "SELECT * FROM s3('http://127.0.0.1:1/x', CSV)",
		"SELECT * FROM remote('127.0.0.1', system.one)", "SELECT * FROM executable('ls', CSV, 'a String')", "SELECT * FROM mysql('127.0.0.1:1', 'a', 'b', 'c', 'd')", "SELECT 1 INTO OUTFILE '/tmp/x'",
		"SELECT a FROM (SELECT 1 AS b)",
	} {
		got := exchange(t, http.MethodPost, api+"/sql", sqlBody(query, "json", 0))
		if _, parameter := problemOf(t, got); got.status != http.StatusBadRequest || parameter != "query" {
			t.Errorf("%q: status %d, parameter %q: %.300s", query, got.status, parameter, got.body)
		}
	}
	for _, query := range []string{"/* x */ (SELECT 1 AS a)", "-- x\nWITH 1 AS a SELECT a", "SHOW TABLES FROM tap", "DESCRIBE tap.runs", "explain select 1"} {
		if got := exchange(t, http.MethodPost, api+"/sql", sqlBody(query, "json", 0)); got.status != http.StatusOK {
			t.Errorf("%s: status %d: %.300s", query, got.status, got.body)
		}
	}
	for body, status := range map[string]int{
		`{"query":"SELECT 1","file":"x"}`: 400, `{"query":"SELECT 1"} x`: 400, `{"query":1}`: 400, `[]`: 400, sqlBody("SELECT 1", "xml", 0): 400, sqlBody("SELECT 1", "csv", 100_001): 400,
		sqlBody("SELECT '"+strings.Repeat("x", 1<<20)+"'", "csv", 0): 413,
	} {
		if got := exchange(t, http.MethodPost, api+"/sql", body); got.status != status {
			t.Errorf("%.80s: status %d, want %d: %.300s", body, got.status, status, got.body)
		}
	}
}

// TestAQueryOfTheAPIEndsAtItsLimit has a query sleep for days. Nothing of it may be left in the database.
func TestAQueryOfTheAPIEndsAtItsLimit(t *testing.T) {
	t.Parallel()
	api := apiOf(t, program.Shared(t))
	const slow = "SELECT count() FROM numbers(10000000000) WHERE NOT ignore(sleepEachRow(0.00004))" // a block of rows sleeps 2.6 s
	got := exchange(t, http.MethodPost, api+"/sql", sqlBody(slow, "json", 0))
	if sentence, parameter := problemOf(t, got); got.status != http.StatusBadRequest || parameter != "query" || !strings.Contains(sentence, "longer than 30s, the limit") {
		t.Errorf("status %d: %.300s", got.status, got.body)
	}
	const running = "SELECT count() AS n FROM system.processes WHERE query LIKE '%sleepEachRow(0.00004)%' AND query NOT LIKE '%system.processes%'"
	if err := program.Await(program.Patience, "the query to be gone", func() bool {
		return exchange(t, http.MethodPost, api+"/sql", sqlBody(running, "csv", 0)).body == "n\n0\n"
	}); err != nil {
		t.Error(err)
	}
}

// TestHostileNamesComeThroughTheAPI gives names that something on the way could misread, as parameters and as data.
func TestHostileNamesComeThroughTheAPI(t *testing.T) {
	t.Parallel()
	u := program.Shared(t)
	api := apiOf(t, u)
	dump := recorded.Unpack(t, "D_tp_golden")
	names := []string{`<script>alert('1')</script>`, "\u202eright to left", `a'b"c\d/..%2F&run=b#c?d=e+f`, strings.Repeat("長", 200)}
	for _, name := range names {
		u.Publish(t, dump, name)
		got := get(t, api+"/reports/completeness?run="+query(name))
		if got.status != http.StatusOK || !strings.Contains(got.body, `"complete"`) && !strings.Contains(got.body, `"rank"`) {
			t.Errorf("%q: status %d: %.300s", name, got.status, got.body)
		}
		wrong := get(t, api+"/reports/completeness?run="+query(name+"!"))
		if sentence, parameter := problemOf(t, wrong); wrong.status != http.StatusNotFound || parameter != "run" || !strings.Contains(sentence, "no run is named") {
			t.Errorf("%q: status %d: %.300s", name, wrong.status, wrong.body)
		}
		var near struct {
			Unknown string   `json:"unknown_run"`
			Nearest []string `json:"nearest_runs"`
		}
		if err := json.Unmarshal([]byte(wrong.body), &near); err != nil || near.Unknown != name+"!" || !slices.Contains(near.Nearest, name) {
			t.Errorf("%q: %v: %.300s does not say which names are like it", name, err, wrong.body)
		}
	}
	var all struct{ Rows []struct{ Name string } }
	if err := json.Unmarshal([]byte(get(t, api+"/runs?limit=0").body), &all); err != nil {
		t.Fatal(err)
	}
	stored := fmt.Sprintf("%q", all.Rows)
	for _, name := range names {
		if !strings.Contains(stored, fmt.Sprintf("%q", name)) {
			t.Errorf("%q is not among %s", name, stored)
		}
	}
}
