package health_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tensortap/tensortap/internal/dev/testbed"
	"github.com/tensortap/tensortap/internal/health"
	"github.com/tensortap/tensortap/pipelines"
	"github.com/tensortap/tensortap/schemas"
)

func TestMain(m *testing.M) { os.Exit(testbed.LeavesNothing(m)) }

// pages are where a health listens, until the test ends.
type pages struct {
	mutex sync.Mutex
	lines []string
}

func (p *pages) tell(text string) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.lines = append(p.lines, text)
}

// serve has the health told while the test runs, and returns the roots of its servers in their order.
func serve(t *testing.T, h *health.Health, cfg health.Config) []string {
	t.Helper()
	var (
		p       pages
		started = make(chan struct{})
		stop    = make(chan struct{})
		ended   = make(chan error, 1)
	)
	go func() {
		ended <- h.Beside(context.WithoutCancel(t.Context()), cfg, p.tell, func() error {
			close(started)
			<-stop
			return nil
		})
	}()
	t.Cleanup(func() {
		close(stop)
		if err := <-ended; err != nil {
			t.Error(err)
		}
		http.DefaultClient.CloseIdleConnections()
	})
	<-started
	var roots []string
	for _, line := range p.lines {
		_, address, _ := strings.Cut(line, "http://")
		host, _, _ := strings.Cut(address, "/")
		roots = append(roots, "http://"+host)
	}
	return roots
}

// get is the status and the text of a page.
func get(t *testing.T, url, host string) (int, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	request.Host = host
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close() //nolint:errcheck // only read
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(text)
}

func TestNobodyIsToldUnlessAsked(t *testing.T) {
	t.Parallel()
	if (health.Config{}).Wanted() {
		t.Error("something is told by default")
	}
	var nobody *health.Health
	nobody.Needs("stream", func(context.Context) error { return nil })
	nobody.Disk("/")
	nobody.Delivery("clickhouse", &pipelines.Metrics{})
	if nobody.Publishing() != nil || nobody.Judging() != nil {
		t.Error("a nil health counts")
	}
	sink := &slow{}
	if err := nobody.Timed("clickhouse", sink).Write(t.Context(), nil); err != nil || sink.writes != 1 {
		t.Errorf("%v, %d writes: a sink that nobody times works as ever", err, sink.writes)
	}
}

func TestAProcessIsReadyOnceItsServersAnswer(t *testing.T) {
	t.Parallel()
	h := health.New("up", "v1", time.Now)
	root := serve(t, h, health.Config{Metrics: ":0"})[0]
	if status, text := get(t, root+"/healthz", ""); status != http.StatusOK {
		t.Errorf("/healthz: %d %s", status, text)
	}
	if status, text := get(t, root+"/readyz", ""); status != http.StatusServiceUnavailable || !strings.Contains(text, "still starting") {
		t.Errorf("/readyz of a process that reached no server yet: %d %s", status, text)
	}
	h.Needs("stream", func(context.Context) error { return nil })
	h.Needs("database", func(context.Context) error { return errors.New("connection refused") })
	if status, text := get(t, root+"/readyz", ""); status != http.StatusServiceUnavailable || text != "the database does not answer: connection refused\n" {
		t.Errorf("/readyz without database: %d %s", status, text)
	}
	_, numbers := get(t, root+"/metrics", "")
	for _, want := range []string{`tensortap_server_up{server="database"} 0`, `tensortap_server_up{server="stream"} 1`, `tensortap_build_info{role="up",version="v1"} 1`, "go_goroutines ", "process_cpu_seconds_total "} {
		if !strings.Contains(numbers, "\n"+want) {
			t.Errorf("/metrics lacks %q", want)
		}
	}
	h.Needs("database", func(context.Context) error { return nil })
	if status, text := get(t, root+"/readyz", ""); status != http.StatusOK || text != "ready\n" {
		t.Errorf("/readyz with all servers: %d %s", status, text)
	}
}

func TestAServerThatHangsHoldsUpNoAnswerForLong(t *testing.T) {
	t.Parallel()
	h := health.New("up", "v1", time.Now)
	h.Needs("stream", func(ctx context.Context) error {
		<-ctx.Done()
		return ctx.Err()
	})
	root := serve(t, h, health.Config{Metrics: ":0"})[0]
	if status, text := get(t, root+"/readyz", ""); status != http.StatusServiceUnavailable || !strings.Contains(text, "deadline exceeded") {
		t.Errorf("/readyz: %d %s", status, text)
	}
}

func TestPagesAreThisMachinesAlone(t *testing.T) {
	t.Parallel()
	roots := serve(t, health.New("up", "v1", time.Now), health.Config{Metrics: ":0", Profiles: "0"})
	for _, root := range roots {
		if host, _, err := net.SplitHostPort(strings.TrimPrefix(root, "http://")); err != nil || !net.ParseIP(host).IsLoopback() {
			t.Errorf("listens at %s, want this machine alone", root)
		}
		if status, _ := get(t, root+"/metrics", "evil.example"); status != http.StatusForbidden {
			t.Errorf("%s answers to another name: %d", root, status)
		}
	}
	for page, want := range map[string]int{
		roots[0] + "/metrics": http.StatusOK, roots[0] + "/debug/pprof/": http.StatusNotFound, roots[1] + "/metrics": http.StatusNotFound,
		roots[1] + "/debug/pprof/": http.StatusOK, roots[1] + "/debug/pprof/heap": http.StatusOK, roots[1] + "/debug/pprof/cmdline": http.StatusNotFound,
	} {
		if status, _ := get(t, page, "localhost:1"); status != want {
			t.Errorf("%s: %d, want %d", page, status, want)
		}
	}
}

func TestAPlaceThatCannotBeTakenIsNamed(t *testing.T) {
	t.Parallel()
	var config net.ListenConfig
	taken, err := config.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close() //nolint:errcheck // nothing came
	for want, cfg := range map[string]health.Config{
		"address already in use":         {Metrics: taken.Addr().String()},
		"want HOST:PORT, or :PORT":       {Metrics: "9464"},
		"want a port, 0 to 65535":        {Profiles: "0.0.0.0:6060"},
		`--pprof "65536": want a port`:   {Metrics: ":0", Profiles: "65536"},
		`--metrics "nowhere.invalid:1":`: {Metrics: "nowhere.invalid:1"},
	} {
		err := health.New("up", "v1", time.Now).Beside(t.Context(), cfg, func(string) {}, func() error {
			t.Errorf("%+v: the work began", cfg)
			return nil
		})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", cfg, err, want)
		}
	}
}

func TestWhatEndsTheWorkIsReturned(t *testing.T) {
	t.Parallel()
	broken := errors.New("the work is broken")
	err := health.New("up", "v1", time.Now).Beside(t.Context(), health.Config{Metrics: ":0"}, func(string) {}, func() error { return broken })
	if !errors.Is(err, broken) {
		t.Errorf("%v, want %v", err, broken)
	}
}

// slow is a sink.
type slow struct{ writes int }

func (s *slow) Write(context.Context, []schemas.Message) error {
	s.writes++
	return nil
}

func TestWritesAreTimedByConsumer(t *testing.T) {
	t.Parallel()
	now := time.Unix(0, 0)
	h := health.New("consume", "v1", func() time.Time {
		now = now.Add(2 * time.Second)
		return now
	})
	hostile := "a\xffb"
	for _, consumer := range []string{"clickhouse", hostile} {
		h.Delivery(consumer, &pipelines.Metrics{})
	}
	if err := h.Timed("clickhouse", &slow{}).Write(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	root := serve(t, h, health.Config{Metrics: ":0"})[0]
	status, numbers := get(t, root+"/metrics", "")
	for _, want := range []string{
		`tensortap_store_write_seconds_bucket{consumer="clickhouse",le="1"} 0`, `tensortap_store_write_seconds_bucket{consumer="clickhouse",le="2.5"} 1`,
		`tensortap_store_write_seconds_sum{consumer="clickhouse"} 2`, `tensortap_delivery_messages_total{consumer="a?b"} 0`,
	} {
		if status != http.StatusOK || !strings.Contains(numbers, want) {
			t.Errorf("%d, /metrics lacks %q in\n%s", status, want, ours(numbers))
		}
	}
}

// ours are the lines of our own numbers.
func ours(text string) string {
	var lines []string
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "tensortap_") {
			lines = append(lines, line)
		}
	}
	return fmt.Sprint(lines)
}
