package otlp_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"go.opentelemetry.io/otel/trace"
	pb "go.opentelemetry.io/proto/otlp/trace/v1"
	"go.uber.org/goleak"
	"google.golang.org/protobuf/proto"

	"github.com/tensortap/tensortap/internal/spans"
	"github.com/tensortap/tensortap/internal/spans/otlp"
	"github.com/tensortap/tensortap/schemas"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// receiver takes OTLP over HTTP, once it is let.
type receiver struct {
	*httptest.Server
	let   chan struct{}
	asked atomic.Int64
	mutex sync.Mutex
	names []string
	fault atomic.Bool
}

func receive(t *testing.T) *receiver {
	t.Helper()
	r := &receiver{let: make(chan struct{})}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		r.asked.Add(1)
		select {
		case <-r.let:
		case <-request.Context().Done():
			return
		}
		if r.fault.Load() {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		body, _ := io.ReadAll(request.Body)
		var got pb.TracesData
		if err := proto.Unmarshal(body, &got); err != nil || request.URL.Path != "/v1/traces" {
			t.Errorf("%s: %v", request.URL.Path, err)
		}
		r.mutex.Lock()
		defer r.mutex.Unlock()
		for _, of := range got.GetResourceSpans() {
			for _, scope := range of.GetScopeSpans() {
				for _, span := range scope.GetSpans() {
					r.names = append(r.names, span.GetName())
				}
			}
		}
	}))
	t.Cleanup(r.Close)
	return r
}

// telling has the process's own environment name the receiver, as the library reads it there.
func telling(t *testing.T, r *receiver, log io.Writer, more ...string) *otlp.Traces {
	t.Helper()
	environment := map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": r.URL}
	for i := 0; i < len(more); i += 2 {
		environment[more[i]] = more[i+1]
	}
	for name, value := range environment {
		t.Setenv(name, value)
	}
	traces, err := otlp.New(t.Context(), otlp.Config{
		Role: "test", Version: "v1", Getenv: func(name string) string { return environment[name] }, Log: zerolog.New(log), Now: time.Now,
	})
	if err != nil {
		t.Fatal(err)
	}
	return traces
}

func message(batch uint64) *schemas.Message {
	return &schemas.Message{Header: schemas.Header{Kind: "tensor", Identity: schemas.Identity{RunID: 7, Epoch: 1, Batch: batch}}}
}

// TestACollectorThatHangsHoldsNobodyUp has far more spans end than the queue takes while the collector does not answer.
func TestACollectorThatHangsHoldsNobodyUp(t *testing.T) { //nolint:paralleltest // the library reads the environment of the process
	r := receive(t)
	traces := telling(t, r, io.Discard, "OTEL_TRACES_SAMPLER", "always_on", "OTEL_BSP_SCHEDULE_DELAY", "1")
	const ended = 10_000
	for i := range uint64(ended) { // which would hang here
		spans.End(spans.Publishing(t.Context(), traces.Tracer(), message(i), map[string][]string{}), nil)
	}
	c := traces.Counts()
	if c.Dropped == 0 || c.Dropped+c.Waiting != ended || c.Waiting > 2048 {
		t.Errorf("%+v, want all of %d that do not wait to be counted as dropped", c, ended)
	}
	close(r.let)
	traces.End(t.Context())
	if c = traces.Counts(); c.Sent+c.Dropped != ended || c.Waiting != 0 || int64(len(r.names)) != c.Sent {
		t.Errorf("%+v, and %d came; want each of %d sent or dropped", c, len(r.names), ended)
	}
}

func TestWhatACollectorRefusesIsCountedAndToldOnce(t *testing.T) { //nolint:paralleltest // the library reads the environment of the process
	r := receive(t)
	close(r.let)
	r.fault.Store(true)
	var log strings.Builder
	traces := telling(t, r, &log, "OTEL_TRACES_SAMPLER", "always_on", "OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "1")
	for i := range uint64(3) {
		spans.End(spans.Publishing(t.Context(), traces.Tracer(), message(i), map[string][]string{}), nil)
	}
	traces.End(t.Context())
	if c := traces.Counts(); c.Failed != 3 || c.Sent+c.Dropped+c.Waiting != 0 || strings.Count(log.String(), "did not take them") != 1 {
		t.Errorf("%+v\n%s", c, &log)
	}
}

func TestFewBatchesAreFollowedAndEachCommand(t *testing.T) { //nolint:paralleltest // the library reads the environment of the process
	r := receive(t)
	close(r.let)
	traces := telling(t, r, io.Discard)
	defer traces.End(t.Context())
	const batches = 20_000
	followed := 0
	for i := range uint64(batches) {
		header := map[string][]string{}
		span := spans.Publishing(t.Context(), traces.Tracer(), message(i), header)
		if (span == nil) != (len(header) == 0) {
			t.Fatalf("span %v, header %v: a message that is not followed carries nothing", span, header)
		}
		if span == nil {
			continue
		}
		followed++
		if got := span.SpanContext().TraceID(); got != spans.TraceOf(message(i).ID()) {
			t.Errorf("trace %s is not that of the batch", got)
		}
		judged := spans.Working(t.Context(), traces.Tracer(), message(i).ID(), "judge")
		if judged == nil || judged.SpanContext().TraceID() != span.SpanContext().TraceID() {
			t.Errorf("the judge of batch %d is in no trace, or another", i)
		}
	}
	if followed < batches/200 || followed > batches/50 { // a hundredth, by hashes that are always the same
		t.Errorf("%d of %d batches are followed", followed, batches)
	}
	for range 100 {
		if _, span := traces.Tracer().Start(t.Context(), "tensortap report"); !span.IsRecording() {
			t.Fatal("a command is not followed")
		}
	}
}

func TestAnEnvironmentThatNamesNoCollectorTellsNothing(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"": "off", "OTEL_SERVICE_NAME=x": "off",
		"OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:1 OTEL_SDK_DISABLED=TRUE":                           "off",
		"OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:1 OTEL_TRACES_EXPORTER=none":                        "off",
		"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=http://127.0.0.1:1":                                           "on",
		"OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:1 OTEL_EXPORTER_OTLP_PROTOCOL=grpc":                 "OTEL_EXPORTER_OTLP_PROTOCOL=grpc: want http/protobuf",
		"OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:1 OTEL_TRACES_EXPORTER=zipkin":                      "OTEL_TRACES_EXPORTER=zipkin: want otlp",
		"OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:1 OTEL_EXPORTER_OTLP_TRACES_PROTOCOL=http/protobuf": "on",
	} {
		environment := map[string]string{}
		for set := range strings.FieldsSeq(line) {
			name, value, _ := strings.Cut(set, "=")
			environment[name] = value
		}
		cfg := otlp.Config{Getenv: func(name string) string { return environment[name] }, Log: zerolog.Nop(), Now: time.Now}
		got := "off"
		if cfg.Wanted() {
			got = "on"
			traces, err := otlp.New(context.WithoutCancel(t.Context()), cfg)
			if err != nil {
				got = err.Error()
			} else {
				traces.End(t.Context())
			}
		}
		if !strings.HasPrefix(got, want) {
			t.Errorf("%s: %s, want %s", line, got, want)
		}
	}
}

func TestNobodyTellsWithoutATracer(t *testing.T) {
	t.Parallel()
	header := map[string][]string{}
	if span := spans.Publishing(t.Context(), nil, message(0), header); span != nil || len(header) > 0 {
		t.Errorf("span %v, header %v", span, header)
	}
	var none *otlp.Traces
	if none.Tracer() != nil {
		t.Error("a tracer of nothing")
	}
	spans.End(nil, nil)
	if _, span := (&spans.Several{}).Begin(t.Context(), nil, "store"); span != nil {
		t.Error("a span of a write without messages that are followed")
	}
}

// TestWhatComesAsAContextIsLookedAt has headers that others may have written.
func TestWhatComesAsAContextIsLookedAt(t *testing.T) {
	t.Parallel()
	const whole = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	for name, c := range map[string]struct {
		header map[string][]string
		want   bool
	}{
		"none":            {nil, false},
		"ours":            {map[string][]string{"traceparent": {whole}}, true},
		"another case":    {map[string][]string{"Traceparent": {whole}}, true},
		"not sampled":     {map[string][]string{"traceparent": {whole[:53] + "00"}}, false},
		"zero":            {map[string][]string{"traceparent": {"00-00000000000000000000000000000000-0000000000000000-01"}}, false},
		"cut":             {map[string][]string{"traceparent": {whole[:40]}}, false},
		"empty":           {map[string][]string{"traceparent": {}}, false},
		"no hexadecimals": {map[string][]string{"traceparent": {strings.ReplaceAll(whole, "a", "\x00")}}, false},
		"long":            {map[string][]string{"traceparent": {strings.Repeat(whole, 1000)}}, false},
	} {
		if _, got := spans.Followed(t.Context(), c.header); got != c.want {
			t.Errorf("%s: followed %v, want %v", name, got, c.want)
		}
	}
	var many spans.Several
	for i := range 3 * spans.MostLinks {
		many.Add(trace.NewSpanContext(trace.SpanContextConfig{TraceID: spans.TraceOf(message(uint64(i)).ID()), SpanID: trace.SpanID{1}, TraceFlags: trace.FlagsSampled}))
	}
}

// TestTheStandardsVariablesAreHeeded has a receiver look at what a request has beside its spans.
func TestTheStandardsVariablesAreHeeded(t *testing.T) {
	t.Parallel()
	came := make(chan *http.Request, 1)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { came <- r }))
	defer server.Close()
	environment := map[string]string{
		"OTEL_EXPORTER_OTLP_ENDPOINT": server.URL + "/base/", "OTEL_EXPORTER_OTLP_HEADERS": "x-token=a%20b, x-other=c", "OTEL_EXPORTER_OTLP_TRACES_COMPRESSION": "gzip",
	}
	cfg := otlp.Config{Getenv: func(name string) string { return environment[name] }, Log: zerolog.Nop(), Now: time.Now}
	traces, err := otlp.New(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	_, span := traces.Tracer().Start(t.Context(), "tensortap report")
	span.End()
	traces.End(t.Context())
	if r := <-came; r.URL.Path != "/base/v1/traces" || r.Header.Get("X-Token") != "a b" || r.Header.Get("X-Other") != "c" || r.Header.Get("Content-Encoding") != "gzip" {
		t.Errorf("%s %v", r.URL, r.Header)
	}
	for line, want := range map[string]string{
		"ENDPOINT=collector:4318":                            "want http://HOST:4318",
		"ENDPOINT=http://user:hidden@[::1":                   "cannot be read",
		"ENDPOINT=http://c HEADERS=hidden":                   "want NAME=VALUE",
		"ENDPOINT=http://c TIMEOUT=soon":                     "want milliseconds",
		"ENDPOINT=http://c CERTIFICATE=/no/such/file":        "OTEL_EXPORTER_OTLP_CERTIFICATE",
		"ENDPOINT=http://c CLIENT_CERTIFICATE=/no/such/file": "OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE",
	} {
		environment = map[string]string{}
		for set := range strings.FieldsSeq(line) {
			name, value, _ := strings.Cut(set, "=")
			environment["OTEL_EXPORTER_OTLP_"+name] = value
		}
		if _, err := otlp.New(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hidden") {
			t.Errorf("%s: %v, want %q", line, err, want)
		}
	}
}
