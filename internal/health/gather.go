package health

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
)

// askFor is how long a server may take to answer a question about its health.
const askFor = 3 * time.Second

// told are numbers that were told before, as a collector.
type told []prometheus.Metric

// Describe implements prometheus.Collector: which numbers there are depends on the parts.
func (told) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (t told) Collect(to chan<- prometheus.Metric) {
	for _, m := range t {
		to <- m
	}
}

// registry holds the numbers of all parts as they are now, and those of Go and of the process.
func (h *Health) registry(ctx context.Context) *prometheus.Registry {
	r := prometheus.NewRegistry()
	r.MustRegister(h.tell(ctx), h.writes, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return r
}

// tell asks all parts at the same time: one that waits for a server holds up no other.
func (h *Health) tell(ctx context.Context) told {
	ctx, cancel := context.WithTimeout(ctx, askFor)
	defer cancel()
	var (
		all    told
		mutex  sync.Mutex
		asking sync.WaitGroup
	)
	tell := func(m prometheus.Metric) {
		mutex.Lock()
		defer mutex.Unlock()
		all = append(all, m)
	}
	for _, p := range h.asked() {
		asking.Go(func() { p(ctx, tell) })
	}
	asking.Wait()
	return all
}

// asked are the parts and, as one more, the servers.
func (h *Health) asked() []part {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	return append(slices.Collect(maps.Values(h.parts)), h.tellServers)
}

// server is whether one answers.
type server struct{ up float64 }

func serverNumbers() []number[server] {
	return []number[server]{
		gauge("server_up", "Whether a server that this process needs answers: 1, or 0 when it does not.", func(s *server) float64 { return s.up }),
	}
}

func (h *Health) tellServers(ctx context.Context, tell func(prometheus.Metric)) {
	for name, missing := range h.missing(ctx) {
		s := server{up: 1}
		if missing != nil {
			s.up = 0
		}
		tellEach(tell, serverNumbers(), &s, label{"server", name})
	}
}

// missing asks each server whether it answers: nil, or why not.
func (h *Health) missing(ctx context.Context) map[string]error {
	h.mutex.Lock()
	needs := maps.Clone(h.needs)
	h.mutex.Unlock()
	ctx, cancel := context.WithTimeout(ctx, askFor)
	defer cancel()
	var (
		answers = map[string]error{}
		mutex   sync.Mutex
		asking  sync.WaitGroup
	)
	for name, answer := range needs {
		asking.Go(func() {
			err := answer(ctx)
			mutex.Lock()
			defer mutex.Unlock()
			answers[name] = err
		})
	}
	asking.Wait()
	return answers
}

// build is what this process is.
type build struct{}

func (h *Health) tellBuild(_ context.Context, tell func(prometheus.Metric)) {
	numbers := []number[build]{gauge("build_info", "Always 1; the labels say which command this process runs, and of which version.", func(*build) float64 { return 1 })}
	tellEach(tell, numbers, &build{}, label{"role", h.role}, label{"version", h.version})
}
