package health

import (
	"encoding/hex"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"

	pb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/tensortap/tensortap/e2e/internal/program"
	"github.com/tensortap/tensortap/internal/dev/recorded"
	"github.com/tensortap/tensortap/internal/spans"
)

// traces takes OTLP over HTTP, as a collector does; from OpenTelemetry's own, where TENSORTAP_OTEL_COLLECTOR names that
// (make test-otel), which is far larger than all of this program.
type traces struct {
	*httptest.Server
	endpoint string // that processes tell
	mutex    sync.Mutex
	spans    []toldSpan
}

// toldSpan is a span and who told it.
type toldSpan struct {
	*pb.Span
	service string
}

func takeTraces(t *testing.T) *traces {
	t.Helper()
	r := &traces{}
	r.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, request *http.Request) {
		body, _ := io.ReadAll(request.Body)
		var got pb.TracesData
		if err := proto.Unmarshal(body, &got); err != nil || request.URL.Path != "/v1/traces" {
			t.Errorf("%s %s: %v", request.Method, request.URL.Path, err)
		}
		r.add(&got)
	}))
	t.Cleanup(r.Close)
	r.endpoint = r.URL
	if collector := os.Getenv("TENSORTAP_OTEL_COLLECTOR"); collector != "" {
		r.endpoint = collectFor(t, collector, r.URL+"/v1/traces")
	}
	return r
}

// collectFor is the address of a collector that runs until the test ends, and hands on what it takes.
func collectFor(t *testing.T, collector, to string) string {
	t.Helper()
	address := freePort(t)
	cmd := exec.Command(collector, address, to) //nolint:noctx // it is told to end
	var said strings.Builder
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		if err := cmd.Wait(); err != nil {
			t.Errorf("the collector: %v: %s", err, &said)
		}
	})
	dialer := net.Dialer{}
	err := await("the collector to listen", func() bool {
		conn, err := dialer.DialContext(t.Context(), "tcp", address)
		if err != nil {
			return false
		}
		return conn.Close() == nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return "http://" + address
}

func freePort(t *testing.T) string {
	t.Helper()
	var config net.ListenConfig
	listener, err := config.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close() //nolint:errcheck // to be listened at by another
	return listener.Addr().String()
}

func (r *traces) add(got *pb.TracesData) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	for _, of := range got.GetResourceSpans() {
		service := ""
		for _, a := range of.GetResource().GetAttributes() {
			if a.GetKey() == "service.name" {
				service = a.GetValue().GetStringValue()
			}
		}
		for _, scope := range of.GetScopeSpans() {
			for _, span := range scope.GetSpans() {
				r.spans = append(r.spans, toldSpan{span, service})
			}
		}
	}
}

// environment has every batch and every command be told to the receiver, soon.
func (r *traces) environment() []string {
	return []string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + r.endpoint, "OTEL_TRACES_SAMPLER=always_on", "OTEL_BSP_SCHEDULE_DELAY=50"}
}

// in are who told of a trace, as "service: span".
func (r *traces) in(trace string) (found []string) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	for _, s := range r.spans {
		named := slices.ContainsFunc(s.GetLinks(), func(l *pb.Span_Link) bool { return hex.EncodeToString(l.GetTraceId()) == trace })
		if named || hex.EncodeToString(s.GetTraceId()) == trace {
			found = append(found, s.service+": "+s.GetName())
		}
	}
	return found
}

// aBatchIsFollowed has one trace hold what became of the batch that a step's end came in, from the command that published it to
// the judge.
func aBatchIsFollowed(t *testing.T, u *program.Up, r *traces, root string) {
	t.Helper()
	if out := program.Run(t, u.Setting, "baseline", "set", "followed", "--run", "good", "--match", "is=followed"); out.Status != 0 {
		t.Fatal(out)
	}
	u.Publish(t, recorded.Unpack(t, "B02_weight_mix"), "followed", "--label", "is=followed")
	u.Settle(t)
	row := u.Query(t, "SELECT leftPad(lower(hex(run_id)), 16, '0'), toString(rank), leftPad(lower(hex(epoch)), 16, '0'), toString(batch) FROM tap_store.step WHERE run_id = xxh3(concat('followed', char(31))) LIMIT 1")[0]
	batch := strings.Join([]string{row[0], row[1], row[2], "step", row[3]}, "/")
	trace := spans.TraceOf(batch).String()
	want := []string{"tensortap-publish: publish step", "tensortap-up: store step"}
	err := await("the spans of a batch", func() bool {
		found := r.in(trace)
		if !slices.Contains(found, "tensortap-up: judge") && !slices.Contains(found, "tensortap-judge: judge") { // whichever of both
			return false
		}
		return !slices.ContainsFunc(want, func(span string) bool { return !slices.Contains(found, span) })
	})
	if err != nil {
		t.Fatalf("%v: of batch %s there are %q, want %q and a judge", err, batch, r.in(trace), want)
	}
	if stores := count(r.in(trace), "tensortap-up: store step"); stores != 2 {
		t.Errorf("%d stores tell of the batch, want tables and archive", stores)
	}
	asksAreFollowed(t, r)
	n := numbers(t, root)
	if n["tensortap_traces_sent_spans_total"] == "0" || n["tensortap_traces_dropped_spans_total"] != "0" || n["tensortap_traces_failed_spans_total"] != "0" {
		t.Errorf("sent %s, dropped %s, failed %s", n["tensortap_traces_sent_spans_total"], n["tensortap_traces_dropped_spans_total"], n["tensortap_traces_failed_spans_total"])
	}
}

func count(all []string, one string) (times int) {
	for _, s := range all {
		if s == one {
			times++
		}
	}
	return times
}

// asksAreFollowed looks for the query that found the batch: its command tells of it before it ends.
func asksAreFollowed(t *testing.T, r *traces) {
	t.Helper()
	r.mutex.Lock()
	defer r.mutex.Unlock()
	command := slices.IndexFunc(r.spans, func(s toldSpan) bool { return s.GetName() == "tensortap query" })
	if command < 0 {
		t.Fatal("no command tells of itself")
	}
	below := slices.ContainsFunc(r.spans, func(s toldSpan) bool {
		return s.GetName() == "query" && slices.Equal(s.GetParentSpanId(), r.spans[command].GetSpanId())
	})
	if !below {
		t.Error("the command tells of no query below it")
	}
}
