package attack

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/tensortap/tensortap/e2e/internal/program"
	"github.com/tensortap/tensortap/internal/dev/testbed"
)

//go:embed testdata/hostile.html
var hostilePage string

// rebound is a name that the attacker points at this machine after its page was loaded.
const rebound = "evil.example"

func TestAPageOfAnotherSiteReadsAndChangesNothing(t *testing.T) {
	t.Parallel()
	u, browser := program.Shared(t), chromium(t)
	guard, err := url.Parse(u.Endpoint.ClickHouse)
	if err != nil {
		t.Fatal(err)
	}
	open := unprotected(t, guard.Host)
	planted := subscribe(t, u.Endpoint.NATS)
	site := newSite(t, u)
	site.frames = map[string]string{
		"port":        site.url("port", "http://"+guard.Host),
		"open":        site.url("open", "http://"+open),
		"rebound":     site.point(guard.Host, "rebound"),
		"reboundopen": site.point(open, "reboundopen"),
	}
	browser.visit(t, site.address("/")+"?name=top", site)
	for name := range site.frames {
		worked := site.reported(name)
		unguarded := strings.HasSuffix(name, "open")
		if unguarded && !strings.Contains(worked, "read: secret answer") {
			t.Errorf("%s: without the guard the page could only %s: this test cannot fail", name, worked)
		}
		if !unguarded && worked != "[]" {
			t.Errorf("%s: the page could %s", name, worked)
		}
	}
	tables := fmt.Sprint(u.Query(t, "SELECT name FROM system.tables WHERE name LIKE 'planted%' ORDER BY name"))
	if want := "[[planted_by_open_blind] [planted_by_open_seen] [planted_by_reboundopen_blind] [planted_by_reboundopen_seen]]"; tables != want {
		t.Errorf("the pages have made the tables %s, want %s: those where nothing guards", tables, want)
	}
	if subjects := planted(); len(subjects) > 0 {
		t.Errorf("the pages have published %q", subjects)
	}
}

// unprotected is the guard without what tells it where a request comes from, and open to pages of every site.
func unprotected(t *testing.T, guard string) (address string) {
	t.Helper()
	server := httptest.NewServer(&httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL.Scheme, r.Out.URL.Host, r.Out.Host = "http", guard, guard
			for _, name := range []string{"Origin", "Referer", "Sec-Fetch-Site", "Sec-Fetch-Mode", "Sec-Fetch-Dest"} {
				r.Out.Header.Del(name)
			}
		},
		ModifyResponse: func(r *http.Response) error {
			r.Header.Set("Access-Control-Allow-Origin", "*")
			return nil
		},
	})
	t.Cleanup(server.Close)
	return server.Listener.Addr().String()
}

// subscribe returns how to ask what was published under planted.
func subscribe(t *testing.T, address string) func() []string {
	t.Helper()
	connection, err := nats.Connect(address, nats.Timeout(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(connection.Close)
	messages, err := connection.SubscribeSync("planted.>")
	if err == nil {
		err = connection.Flush()
	}
	if err != nil {
		t.Fatal(err)
	}
	return func() []string {
		if err := connection.Flush(); err != nil {
			t.Error(err)
		}
		var subjects []string
		for n, _, _ := messages.Pending(); n > 0; n-- {
			if message, err := messages.NextMsg(patience); err == nil {
				subjects = append(subjects, message.Subject)
			}
		}
		return subjects
	}
}

// site is the attacker's: its pages, and what they report.
type site struct {
	tb      testing.TB
	server  *httptest.Server
	frames  map[string]string
	reports map[string]chan string
	knows   map[string]string
	came    chan struct{}
}

func (s *site) reported(name string) string {
	select {
	case worked := <-s.reports[name]:
		return worked
	default:
		return "nothing: it has not reported"
	}
}

func newSite(t *testing.T, u *program.Up) *site {
	t.Helper()
	database, err := url.Parse(u.Endpoint.ClickHouse)
	if err != nil {
		t.Fatal(err)
	}
	stream, err := url.Parse(u.Endpoint.NATS)
	if err != nil {
		t.Fatal(err)
	}
	password, _ := database.User.Password()
	s := &site{tb: t, reports: map[string]chan string{}, came: make(chan struct{}, 100), knows: map[string]string{
		"login": url.Values{"user": {database.User.Username()}, "password": {password}}.Encode(),
		"token": stream.User.Username(), "stream": "http://" + stream.Host + "/",
	}}
	for _, name := range []string{"port", "open", "rebound", "reboundopen"} {
		s.reports[name] = make(chan string, 10)
	}
	s.server = httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(s.server.Close)
	return s
}

func (s *site) address(path string) string { return s.server.URL + path }

func (s *site) url(name, base string) string {
	return s.address("/page?") + url.Values{"name": {name}, "base": {base}}.Encode()
}

func (s *site) serve(w http.ResponseWriter, r *http.Request) {
	name := r.URL.Query().Get("name")
	switch r.URL.Path {
	case "/":
		for _, frame := range s.frames {
			_, _ = fmt.Fprintf(w, "<iframe src=%q></iframe>", frame)
		}
	case "/page":
		_, _ = io.WriteString(w, s.page(name, r.URL.Query().Get("base")))
	case "/report":
		body, _ := io.ReadAll(r.Body)
		s.reports[name] <- string(body)
		s.came <- struct{}{}
	default:
		http.NotFound(w, r)
	}
}

// page is the hostile page, told what to attack; where base is empty, the server that it came from.
func (s *site) page(name, base string) string {
	told := map[string]string{"name": name, "base": base, "report": s.address("/report")}
	maps.Copy(told, s.knows)
	text, err := json.Marshal(told)
	if err != nil {
		s.tb.Error(err)
	}
	return strings.Replace(hostilePage, "HOSTILE", string(text), 1)
}

// point has the name lead to the attacker's server until that has served its page, and from then on to the target, which
// has the same port: the browser takes both for one site. The name keeps its address, and what listens there hands on,
// byte for byte, since a browser keeps addresses for as long as it likes.
func (s *site) point(target, name string) (page string) {
	_, port, err := net.SplitHostPort(target)
	if err != nil {
		s.tb.Fatal(err)
	}
	listener, err := net.Listen("tcp", net.JoinHostPort("127.0.0.2", port)) //nolint:noctx // until the test ends
	if err != nil {
		s.tb.Fatal(err)
	}
	s.tb.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			go s.answer(connection, target, name)
		}
	}()
	return "http://" + net.JoinHostPort(rebound, port) + "/page"
}

// answer looks at what is asked for first: a browser opens connections in advance.
func (s *site) answer(connection net.Conn, target, name string) {
	defer connection.Close() //nolint:errcheck // the browser has what it gets
	first := make([]byte, 64<<10)
	n, err := connection.Read(first)
	if err != nil {
		return
	}
	if strings.HasPrefix(string(first[:n]), "GET /page ") {
		page := s.page(name, "")
		_, _ = fmt.Fprintf(connection, "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s", len(page), page)
		return
	}
	server, err := net.Dial("tcp", target) //nolint:noctx // at once
	if err != nil {
		return
	}
	defer server.Close() //nolint:errcheck // likewise
	_, _ = server.Write(first[:n])
	go func() { _, _ = io.Copy(server, connection) }()
	_, _ = io.Copy(connection, server)
}

// browser is the path of Chromium.
type browser string

func chromium(tb testing.TB) browser {
	tb.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return browser(path)
		}
	}
	testbed.Needed(tb, "no Chromium: install the package chromium")
	return ""
}

// visit shows a page until each of the site's frames has reported.
func (b browser) visit(t *testing.T, page string, s *site) {
	t.Helper()
	profile, err := os.MkdirTemp("", "tensortap-browser-") //nolint:usetesting // the browser's processes may outlive it for a moment
	if err != nil {
		t.Fatal(err)
	}
	said := &testbed.Buffer{}
	cmd := exec.Command(string(b), "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-dev-shm-usage", //nolint:noctx,gosec // ended below
		"--disable-background-networking", "--disable-component-update", "--disable-sync", "--no-proxy-server", "--user-data-dir="+profile,
		"--host-resolver-rules=MAP "+rebound+" 127.0.0.2", page)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + profile, "TMPDIR=" + profile, "XDG_CONFIG_HOME=" + filepath.Join(profile, "config")}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	cmd.Stdout, cmd.Stderr = said, said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		_ = program.Await(patience, "the browser to leave its profile", func() bool { return os.RemoveAll(profile) == nil })
	})
	limit := time.After(5 * time.Minute)
	for range s.frames {
		select {
		case <-s.came:
		case err := <-ended:
			t.Fatal(errors.Join(errors.New("the browser ended before its pages had reported"), err), said)
		case <-limit:
			t.Fatal("the pages did not report within 5 min:", said)
		}
	}
}
