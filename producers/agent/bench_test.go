package agent_test

import (
	"context"
	"syscall"
	"testing"
	"time"

	"github.com/tensortap/tensortap/internal/dev/testbed"
	"github.com/tensortap/tensortap/producers/agent"
	"github.com/tensortap/tensortap/schemas"
)

// discard takes messages and keeps nothing.
type discard struct{}

func (discard) Publish(context.Context, schemas.Message) error { return nil }
func (discard) Flush(context.Context) error                    { return nil }

func (discard) Close() {}

// BenchmarkAgent measures the cost of a row of tensor on the host, from the spool to the message.
func BenchmarkAgent(b *testing.B) {
	const modules = 500
	b.StopTimer()
	root := b.TempDir()
	s := testbed.NewSpool(b, root, testbed.SpoolOptions{Run: "bench", Epoch: 1, SegmentRows: schemas.SpoolSegmentRows})
	rows := 0
	for step := uint32(0); rows < b.N; step++ {
		s.Step(step, modules)
		rows += 2 * modules
	}
	s.Close()
	cfg := agent.DefaultConfig(root, time.Now)
	cfg.ScanEvery = 5 * time.Millisecond
	cfg.Stream = agent.Stream{
		NewPublisher: func() (agent.Publisher, error) { return discard{}, nil },
		Admit:        func(_ context.Context, s agent.Start) (agent.Place, error) { return agent.Place{Rank: s.Rank}, nil },
		Finish:       func(context.Context, agent.Start, bool, uint32) error { return nil },
	}
	before := cpuSeconds(b)
	b.StartTimer()
	serveUntil(b, cfg, empty(b, root))
	b.StopTimer()
	b.ReportMetric((cpuSeconds(b)-before)*1e6/float64(rows), "cpu-s/Mrow")
}

func cpuSeconds(tb testing.TB) float64 {
	tb.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		tb.Fatal(err)
	}
	seconds := func(t syscall.Timeval) float64 { return float64(t.Sec) + float64(t.Usec)/1e6 }
	return seconds(used.Utime) + seconds(used.Stime)
}
