package load

import (
	"context"
	"io/fs"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/tensortap/tensortap/internal/dev/processes"
	"github.com/tensortap/tensortap/internal/dev/sizing"
	"github.com/tensortap/tensortap/pipelines"
)

// measured is what the processes take for a while.
type measured struct {
	parts  []part
	before []float64 // processor seconds of each
	most   []processes.Memory
	stop   context.CancelFunc
	work   errgroup.Group
}

// part is a part of the fleet, in one process or several.
type part struct {
	name string
	pids []int
}

func (w *world) parts() []part {
	all := []part{
		{sizing.NATS, []int{w.nats.Process.Cmd.Process.Pid}},
		{sizing.ClickHouse, []int{w.engine.Process.Cmd.Process.Pid}},
		{sizing.Tables, []int{w.roles[tables].Cmd.Process.Pid}},
		{sizing.Archive, []int{w.roles[archive].Cmd.Process.Pid}},
		{sizing.Judge, []int{w.roles[judge].Cmd.Process.Pid}},
		{sizing.Alert, []int{w.roles[alert].Cmd.Process.Pid}},
		{sizing.Agents, nil},
	}
	for _, m := range w.crowd.members {
		all[len(all)-1].pids = append(all[len(all)-1].pids, m.process.Cmd.Process.Pid)
	}
	return all
}

func (p part) seconds() (sum float64) {
	for _, pid := range p.pids {
		sum += processes.SecondsOf(pid)
	}
	return sum
}

func (p part) memory() (sum processes.Memory) {
	for _, pid := range p.pids {
		m := processes.MemoryOf(pid)
		sum.Shared, sum.Single = sum.Shared+m.Shared, sum.Single+m.Single
	}
	return sum
}

// measure begins to measure.
func (w *world) measure(tb testing.TB) *measured {
	tb.Helper()
	m := &measured{parts: w.parts()}
	m.most = make([]processes.Memory, len(m.parts))
	for _, p := range m.parts {
		m.before = append(m.before, p.seconds())
	}
	var ctx context.Context
	ctx, m.stop = context.WithCancel(context.WithoutCancel(tb.Context()))
	m.work.Go(func() error {
		for {
			for i, p := range m.parts {
				m.most[i] = m.most[i].Most(p.memory())
			}
			select {
			case <-ctx.Done():
				return nil
			case <-time.After(time.Second):
			}
		}
	})
	return m
}

// end is what each part took for that many events.
func (m *measured) end(tb testing.TB, events float64) (all []sizing.Part) {
	tb.Helper()
	m.stop()
	if err := m.work.Wait(); err != nil {
		tb.Fatal(err)
	}
	for i, p := range m.parts {
		const million = 1e6
		used := (p.seconds() - m.before[i]) / events * million
		all = append(all, sizing.Part{Name: p.name, Seconds: used, Shared: m.most[i].Shared, Single: m.most[i].Single})
		tb.Logf("%s: %.2f processor seconds per million events, %.0f MB", p.name, used, m.most[i].Shared/million)
	}
	return all
}

// sizes are the bytes of each event on the disk, once all is stored.
func (w *world) sizes(tb testing.TB, f *sizing.Figures) {
	tb.Helper()
	events := w.crowd.events(w.crowd.now(tb).Steps)
	kept, err := w.js.Stream(tb.Context(), pipelines.StreamName)
	if err != nil {
		tb.Fatal(err)
	}
	f.Bytes = sizing.Bytes{
		Stream:  float64(kept.CachedInfo().State.Bytes) / events,
		Tables:  w.number(tb, "SELECT toFloat64(sum(bytes_on_disk)) FROM system.parts WHERE database = 'tap_store' AND active") / events,
		Archive: float64(sizeOf(w.folder())) / events,
	}
	tb.Logf("bytes of each event: stream %.1f, tables %.1f, archive %.1f; %.0f steps of ranks judged", f.Bytes.Stream, f.Bytes.Tables, f.Bytes.Archive,
		w.number(tb, judged))
}

// sizeOf is what all files of a folder take.
func sizeOf(dir string) (size int64) {
	_ = filepath.WalkDir(dir, func(_ string, entry fs.DirEntry, err error) error { // what is gone takes nothing
		if err != nil || entry.IsDir() {
			return nil //nolint:nilerr // it is gone
		}
		if info, err := entry.Info(); err == nil {
			size += info.Size()
		}
		return nil
	})
	return size
}
