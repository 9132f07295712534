package deploy

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/tensortap/tensortap/e2e/internal/program"
)

// served is the role of the page.
type served struct {
	t    *testing.T
	f    *fleet
	root string
}

func (f *fleet) findPage(t *testing.T, role *program.Up) *served {
	t.Helper()
	s := &served{t: t, f: f}
	err := program.Await(program.Patience, "the page", func() bool {
		found := regexp.MustCompile(`serves the page at (http://\S+)/,`).FindStringSubmatch(role.Stdout.String())
		if found != nil {
			s.root = found[1]
		}
		return found != nil
	})
	if err != nil {
		t.Fatalf("%v\n%s", err, role.Stderr)
	}
	return s
}

// requirePage has the role answer who has a token of the file that the compose file gives it, and nobody else.
func (f *fleet) requirePage(t *testing.T, role *program.Up) {
	t.Helper()
	s := f.findPage(t, role)
	s.requireShell()
	var described struct {
		Paths map[string]map[string]any
	}
	_, text := s.get("/api/v1/openapi.json", f.token)
	f.must(json.Unmarshal([]byte(text), &described))
	if len(described.Paths) < 10 {
		t.Errorf("the API describes %d paths", len(described.Paths))
	}
	for path, methods := range described.Paths {
		if methods["get"] != nil {
			s.requireToken(strings.ReplaceAll(path, "{name}", "runs"))
		}
	}
	s.requireAnswers()
	s.requireLogin()
	if status, text := s.send(http.MethodPost, "/api/v1/control/capture", `{"run": "demo-bad"}`, f.token, nil); status != http.StatusForbidden {
		t.Errorf("a reader may capture: status %d: %.500s", status, text)
	}
}

// requireShell asks for the page itself, which anyone may load: it shows nothing without the API.
func (s *served) requireShell() {
	s.t.Helper()
	status, page := s.get("/", "")
	scripts := regexp.MustCompile(`<script[^>]* src="([^"]+)"`).FindAllStringSubmatch(page, -1)
	if status != http.StatusOK || len(scripts) == 0 || strings.Contains(page, "demo-bad") {
		s.t.Fatalf("the page: status %d: %.500s", status, page)
	}
	for _, script := range scripts {
		path := "/" + strings.TrimLeft(script[1], "./")
		if status, text := s.get(path, ""); status != http.StatusOK || text == "" {
			s.t.Errorf("%s of the page: status %d", path, status)
		}
	}
}

func (s *served) requireToken(path string) {
	s.t.Helper()
	for _, token := range []string{"", s.f.token + "x"} {
		if status, text := s.get(path, token); status != http.StatusUnauthorized {
			s.t.Errorf("%s answers with a token of %d characters: status %d: %.200s", path, len(token), status, text)
		}
	}
}

func (s *served) requireAnswers() {
	s.t.Helper()
	for path, want := range map[string]string{
		"/api/v1/who":          `"reader"`,
		"/api/v1/reports/runs": `demo-bad`,
		"/api/v1/compare?problem=demo-bad&bench=demo-good": `"verdict": "differs"`,
	} {
		if status, text := s.get(path, s.f.token); status != http.StatusOK || !strings.Contains(text, want) {
			s.t.Errorf("%s: status %d, want %s: %.1000s", path, status, want, text)
		}
	}
}

// requireLogin shows the token once, as the page does, and asks by the cookie from then on.
func (s *served) requireLogin() {
	s.t.Helper()
	var cookies []*http.Cookie
	for token, want := range map[string]int{s.f.token + "x": http.StatusUnauthorized, s.f.token: http.StatusOK} {
		body, err := json.Marshal(map[string]string{"token": token})
		s.f.must(err)
		var given []*http.Cookie
		if status, text := s.send(http.MethodPost, "/api/v1/login", string(body), "", func(r *http.Response) { given = r.Cookies() }); status != want {
			s.t.Errorf("login with a token of %d characters: status %d: %.500s", len(token), status, text)
		}
		if want == http.StatusOK {
			cookies = given
		} else if len(given) > 0 {
			s.t.Error("a token that nobody has gets a cookie")
		}
	}
	if len(cookies) != 1 || !cookies[0].HttpOnly {
		s.t.Fatalf("login gives the cookies %v", cookies)
	}
	request := s.request(http.MethodGet, "/api/v1/who", "")
	request.AddCookie(cookies[0])
	if status, text := s.do(request, nil); status != http.StatusOK {
		s.t.Errorf("with the cookie: status %d: %s", status, text)
	}
}

func (s *served) get(path, token string) (status int, text string) {
	s.t.Helper()
	return s.send(http.MethodGet, path, "", token, nil)
}

func (s *served) send(method, path, body, token string, look func(*http.Response)) (status int, text string) {
	s.t.Helper()
	request := s.request(method, path, body)
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	return s.do(request, look)
}

func (s *served) request(method, path, body string) *http.Request {
	s.t.Helper()
	request, err := http.NewRequestWithContext(s.t.Context(), method, s.root+path, bytes.NewBufferString(body))
	s.f.must(err)
	request.Header.Set("Content-Type", "application/json")
	return request
}

func (s *served) do(request *http.Request, look func(*http.Response)) (status int, text string) {
	s.t.Helper()
	answer, err := http.DefaultClient.Do(request)
	s.f.must(err)
	defer func() { _ = answer.Body.Close() }()
	if look != nil {
		look(answer)
	}
	all, err := io.ReadAll(answer.Body)
	s.f.must(err)
	return answer.StatusCode, string(all)
}
