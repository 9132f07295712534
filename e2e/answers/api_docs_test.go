package answers

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/tensortap/tensortap/e2e/internal/program"
	"github.com/tensortap/tensortap/internal/dev/recorded"
	"github.com/tensortap/tensortap/sql"
)

func docsOfAPI(tb testing.TB) string {
	tb.Helper()
	text, err := os.ReadFile(filepath.Join(recorded.Root(), "docs", "api.md"))
	if err != nil {
		tb.Fatal(err)
	}
	return string(text)
}

// TestTheDocumentedRequestsAreAnswered sends each line of curl.
func TestTheDocumentedRequestsAreAnswered(t *testing.T) {
	t.Parallel()
	u := program.PublishOnce(t, "B04_eps_mix", "B00_golden_mix")
	home := strings.TrimSuffix(apiOf(t, u), "/api/v1")
	line := regexp.MustCompile(`(?m)^    curl (?:-H '([^']*)' )?(?:-d '([^']*)' )?'?(http://127\.0\.0\.1:7070)([^'\n]*)'?$`)
	lines := line.FindAllStringSubmatch(docsOfAPI(t), -1)
	if len(lines) < 7 {
		t.Fatalf("%d lines of curl", len(lines))
	}
	for _, l := range lines {
		path := strings.NewReplacer("=bad", "=B04_eps_mix", "=good", "=B00_golden_mix").Replace(l[4])
		var got answered
		if l[2] == "" {
			got = get(t, home+path)
		} else {
			got = exchange(t, http.MethodPost, home+path, l[2], l[1])
		}
		if got.status != http.StatusOK || len(got.body) < 20 {
			t.Errorf("%s: status %d: %.300s", l[0], got.status, got.body)
		}
	}
}

// described is what the tests read of the description.
type described struct {
	OpenAPI string
	Paths   map[string]map[string]struct {
		OperationID string
		Parameters  []struct {
			Name     string
			Required bool
			Schema   struct{ Type string }
		}
	}
}

// TestTheDescriptionIsThatOfTheReports holds paths and parameters against the files of SQL, and both against the page of the API.
func TestTheDescriptionIsThatOfTheReports(t *testing.T) {
	t.Parallel()
	u := program.Shared(t)
	var d described
	if err := json.Unmarshal([]byte(get(t, apiOf(t, u)+"/openapi.json").body), &d); err != nil || d.OpenAPI != "3.1.0" {
		t.Fatalf("OpenAPI %q, %v", d.OpenAPI, err)
	}
	reports, err := sql.Reports()
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range reports {
		operation, found := d.Paths["/api/v1/reports/"+r.Name]["get"]
		if !found {
			t.Errorf("report %s is not described", r.Name)
		}
		known := map[string]string{}
		for _, p := range operation.Parameters {
			known[p.Name] = p.Schema.Type
			if p.Name == "" || p.Schema.Type == "" {
				t.Errorf("report %s: parameter %+v", r.Name, p)
			}
		}
		for _, p := range r.Parameters {
			wanted := map[bool]string{true: "integer", false: "string"}[strings.Contains(p.Type, "Int") && !strings.Contains(p.Type, "(")]
			if strings.HasPrefix(p.Type, "Float") {
				wanted = "number"
			}
			if p.Name == "unstored" || p.Name == "measured" {
				wanted = ""
			}
			if known[p.Name] != wanted {
				t.Errorf("report %s: parameter %s is %q, want %q", r.Name, p.Name, known[p.Name], wanted)
			}
		}
	}
	docs, ids := docsOfAPI(t), map[string]bool{}
	for path, methods := range d.Paths {
		for _, operation := range methods {
			if ids[operation.OperationID] || operation.OperationID == "" {
				t.Errorf("%s: operation %q is there twice, or has no name", path, operation.OperationID)
			}
			ids[operation.OperationID] = true
		}
		last := path[strings.LastIndex(path, "/"):]
		if !strings.HasPrefix(path, "/api/v1/reports/") && !strings.Contains(docs, path) && !strings.Contains(docs, "`"+last+"`") {
			t.Errorf("docs/api.md has no %s", path)
		}
	}
	var listed struct {
		Reports []struct {
			Name    string
			Columns []struct{ Name, Doc string }
		}
	}
	if err := json.Unmarshal([]byte(get(t, apiOf(t, u)+"/reports").body), &listed); err != nil || len(listed.Reports) != len(reports) {
		t.Fatalf("%d reports are listed, want %d, %v", len(listed.Reports), len(reports), err)
	}
	for _, r := range listed.Reports {
		if len(r.Columns) == 0 {
			t.Errorf("report %s has no columns", r.Name)
		}
	}
}
