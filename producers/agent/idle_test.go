package agent_test

import (
	"testing"
	"time"

	"github.com/tensortap/tensortap/internal/dev/testbed"
	"github.com/tensortap/tensortap/producers/agent"
)

// BenchmarkIdleAgent measures the cost of eight idle processes on the host.
func BenchmarkIdleAgent(b *testing.B) {
	root, l := b.TempDir(), newLog(b)
	for rank := range uint32(8) {
		testbed.NewSpool(b, root, testbed.SpoolOptions{Run: "idle", Rank: rank, Epoch: uint64(rank) + 1})
	}
	cfg := agent.DefaultConfig(root, time.Now)
	cfg.Stream = l.stream()
	for b.Loop() {
		before, until := cpuSeconds(b), time.Now().Add(3*time.Second)
		serveUntil(b, cfg, func() bool {
			time.Sleep(50 * time.Millisecond)
			return time.Now().After(until)
		})
		b.ReportMetric((cpuSeconds(b)-before)/3*100, "%cpu")
	}
}
