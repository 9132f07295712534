package api_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/rs/zerolog"

	"github.com/tensortap/tensortap/internal/api"
	"github.com/tensortap/tensortap/internal/dev/testbed"
	"github.com/tensortap/tensortap/internal/tokens"
)

func TestMain(m *testing.M) { os.Exit(testbed.LeavesNothing(m)) }

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

// serving is an API without a system, and where it listens.
func serving(tb testing.TB, cfg api.Config, place api.Place) (url string) {
	tb.Helper()
	cfg.Now = time.Now
	answers, err := api.New(cfg)
	must(tb, err)
	if place.Address == "" {
		place.Address = "127.0.0.1:0"
	}
	server, err := answers.Listen(tb.Context(), place)
	must(tb, err)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- server.Run(ctx) }()
	tb.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			tb.Error(err)
		}
	})
	return server.URL()
}

// answered is what a request got.
type answered struct {
	status int
	header http.Header
	body   string
}

func exchange(tb testing.TB, client *http.Client, method, url, body string, headers ...string) answered {
	tb.Helper()
	request, err := http.NewRequestWithContext(tb.Context(), method, url, strings.NewReader(body))
	must(tb, err)
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	for _, header := range headers {
		name, value, _ := strings.Cut(header, ": ")
		request.Header.Set(name, value)
	}
	response, err := client.Do(request)
	must(tb, err)
	defer response.Body.Close() //nolint:errcheck // only read
	text, err := io.ReadAll(response.Body)
	must(tb, err)
	return answered{response.StatusCode, response.Header, string(text)}
}

// client keeps no connection, which would outlive the test.
func client() *http.Client { return &http.Client{Transport: &http.Transport{DisableKeepAlives: true}} }

// guarded is an API that wants tokens, and one of each role.
func guarded(tb testing.TB) (url string, byRole map[tokens.Role]string) {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), "tokens")
	byRole = map[tokens.Role]string{}
	for _, role := range []tokens.Role{tokens.Reader, tokens.Operator} {
		token, err := tokens.New(path, tokens.Bearer{Role: role, Name: string(role) + "-1"}, time.Now())
		must(tb, err)
		byRole[role] = token
	}
	file, err := tokens.Open(path, time.Now)
	must(tb, err)
	return serving(tb, api.Config{Access: api.Access{Tokens: file}, Control: true}, api.Place{}), byRole
}

// everyPath is each thing that can be asked, and sent.
func everyPath() map[string]string {
	return map[string]string{
		"who": "", "runs": "", "reports": "", "reports/divergence": "", "reports/nothing": "", "compare": "", "explain": "", "openapi.json": "", "live": "", "nothing": "",
		"sql": `{"query":"SELECT 1"}`, "control/capture": `{"run":"x"}`, "control/poke": `{"run":"x"}`, "control/stop": `{"run":"x"}`, "control/resume": `{"run":"x"}`,
	}
}

func methodOf(body string) string {
	if body != "" {
		return http.MethodPost
	}
	return http.MethodGet
}

func TestWhoHasNoTokenGetsNothing(t *testing.T) {
	t.Parallel()
	url, byRole := guarded(t)
	for path, body := range everyPath() {
		for _, headers := range [][]string{
			nil,
			{"Authorization: Bearer "},
			{"Authorization: Bearer x"},
			{"Authorization: Basic " + byRole[tokens.Reader]},
			{"Authorization: " + byRole[tokens.Reader]},
			{"Cookie: tensortap_token=x"},
			{"Cookie: other=" + byRole[tokens.Reader]},
			{"X-Forwarded-For: 127.0.0.1"},
		} {
			got := exchange(t, client(), methodOf(body), url+"api/v1/"+path, body, headers...)
			if got.status != http.StatusUnauthorized || strings.Contains(got.body, "divergence") {
				t.Errorf("%s with %.30q: status %d: %.300s", path, headers, got.status, got.body)
			}
		}
	}
}

func TestAReaderControlsNothing(t *testing.T) {
	t.Parallel()
	url, byRole := guarded(t)
	for role, want := range map[tokens.Role]int{tokens.Reader: http.StatusForbidden, tokens.Operator: http.StatusServiceUnavailable} {
		for _, do := range []string{"capture", "poke", "stop", "resume"} {
			got := exchange(t, client(), http.MethodPost, url+"api/v1/control/"+do, `{"run":"x"}`, "Authorization: Bearer "+byRole[role])
			if got.status != want {
				t.Errorf("a %s asks for %s: status %d, want %d: %s", role, do, got.status, want, got.body)
			}
		}
	}
	plain := serving(t, api.Config{}, api.Place{})
	if got := exchange(t, client(), http.MethodPost, plain+"api/v1/control/stop", `{"run":"x"}`); got.status != http.StatusForbidden || !strings.Contains(got.body, "without --control") {
		t.Errorf("without --control: status %d: %s", got.status, got.body)
	}
}

func TestAPortThatIsTakenIsNamedWithAWayOut(t *testing.T) {
	t.Parallel()
	address := strings.TrimSuffix(strings.TrimPrefix(serving(t, api.Config{}, api.Place{}), "http://"), "/")
	answers, err := api.New(api.Config{Now: time.Now})
	must(t, err)
	_, err = answers.Listen(t.Context(), api.Place{Address: address})
	if err == nil {
		t.Fatal("two servers have one port")
	}
	for _, want := range []string{address, "already in use", "another tensortap up or serve", "--listen 127.0.0.1:0 takes a free port"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v: want %q", err, want)
		}
	}
}

func TestABrowserShowsItsTokenOnce(t *testing.T) {
	t.Parallel()
	url, byRole := guarded(t)
	if got := exchange(t, client(), http.MethodPost, url+"api/v1/login", `{"token":"tensortap_x"}`); got.status != http.StatusUnauthorized || got.header.Get("Set-Cookie") != "" {
		t.Errorf("an unknown token: status %d, %v", got.status, got.header)
	}
	got := exchange(t, client(), http.MethodPost, url+"api/v1/login", `{"token":"`+byRole[tokens.Reader]+`"}`)
	cookie, attributes, _ := strings.Cut(got.header.Get("Set-Cookie"), ";")
	for _, want := range []string{"HttpOnly", "SameSite=Strict", "Path=/"} {
		if !strings.Contains(attributes, want) {
			t.Errorf("status %d, the cookie is not %s: %s", got.status, want, attributes)
		}
	}
	if who := exchange(t, client(), http.MethodGet, url+"api/v1/who", "", "Cookie: "+cookie); who.status != http.StatusOK || !strings.Contains(who.body, `"name":"reader-1"`) || !strings.Contains(who.body, `"control":false`) {
		t.Errorf("status %d: %s", who.status, who.body)
	}
	gone := exchange(t, client(), http.MethodPost, url+"api/v1/logout", "{}", "Cookie: "+cookie)
	if !strings.Contains(gone.header.Get("Set-Cookie"), "Max-Age=0") {
		t.Errorf("status %d, %v", gone.status, gone.header)
	}
}

func TestBeyondThisMachineTokensAreWanted(t *testing.T) {
	t.Parallel()
	a := testbed.NewAuthority(t)
	a.Sign("page")
	answers, err := api.New(api.Config{Now: time.Now})
	must(t, err)
	for want, place := range map[string]api.Place{
		"only who has a token": {Address: "0.0.0.0:0"},
		"who has a token may":  {Address: ":0"},
		"tensortap token new":  {Address: "[::]:0"},
		"want HOST:PORT":       {Address: "7070"},
		"go together":          {Address: "127.0.0.1:0", Cert: a.Path("page.pem")},
		"no such file":         {Address: "127.0.0.1:0", Cert: a.Path("none.pem"), Key: a.Path("page-key.pem")},
		"find certificate PEM": {Address: "127.0.0.1:0", Cert: a.Path("page-key.pem"), Key: a.Path("page-key.pem")},
	} {
		if server, err := answers.Listen(t.Context(), place); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", place, err, want)
			if err == nil {
				must(t, server.Close())
			}
		}
	}
	url := serving(t, api.Config{Access: api.Access{Secure: true}, Log: zerolog.Nop()}, api.Place{Cert: a.Path("page.pem"), Key: a.Path("page-key.pem")})
	pool := x509.NewCertPool()
	authority, err := os.ReadFile(a.Path("ca.pem"))
	must(t, err)
	pool.AppendCertsFromPEM(authority)
	encrypted := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}}}
	if got := exchange(t, encrypted, http.MethodGet, url+"api/v1/who", ""); !strings.HasPrefix(url, "https://") || got.status != http.StatusOK {
		t.Errorf("%s: status %d: %s", url, got.status, got.body)
	}
}

func TestThePageIsServed(t *testing.T) {
	t.Parallel()
	files := fstest.MapFS{
		"index.html": {Data: []byte("<!doctype html><title>page</title>")}, "assets/page-1.js": {Data: []byte("start()")}, ".gitkeep": {}, "assets/big.js": {Data: []byte(strings.Repeat("start();", 5000))},
	}
	url := serving(t, api.Config{Page: files}, api.Place{})
	for path, want := range map[string]struct {
		status int
		begins string
	}{
		"": {200, "<!doctype"}, "runs/a%2Fb": {200, "<!doctype"}, "compare?problem=x": {200, "<!doctype"}, "assets/page-1.js": {200, "start"}, "assets/page-2.js": {404, "the page has no"},
		".gitkeep": {200, "<!doctype"}, "assets/..%2f..%2f..%2fetc%2fpasswd": {200, "<!doctype"}, "api/v1/runs": {503, `{"status":503,"error":"the system is still starting`},
	} {
		if got := exchange(t, client(), http.MethodGet, url+path, ""); got.status != want.status || !strings.HasPrefix(got.body, want.begins) {
			t.Errorf("%s: status %d: %.200s", path, got.status, got.body)
		}
	}
	packed := exchange(t, client(), http.MethodGet, url+"assets/big.js", "", "Accept-Encoding: gzip")
	if packed.header.Get("Content-Encoding") != "gzip" || len(packed.body) > 2000 || !strings.Contains(packed.header.Get("Cache-Control"), "immutable") {
		t.Errorf("status %d, %d bytes, %v", packed.status, len(packed.body), packed.header)
	}
	if got := exchange(t, client(), http.MethodGet, serving(t, api.Config{}, api.Place{}), ""); got.status != http.StatusNotFound || !strings.Contains(got.body, "make web") {
		t.Errorf("without a page: status %d: %s", got.status, got.body)
	}
}
