package soak

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// measure records what the parts take, each ten seconds.
type measure struct {
	begin time.Time
	data  string
	load  *load
	file  *os.File

	mutex   sync.Mutex
	samples map[string][]float64
}

// allowed is what a figure may grow by beside a factor of 1.3: what a process takes that has just begun, or caches fill.
var allowed = map[string]float64{ //nolint:gochecknoglobals // by figure
	"up memory MB": 64, "up descriptors": 60, "up threads": 12,
	"engine memory MB": 300, "engine descriptors": 120, "engine threads": 60,
	"agent memory MB": 48, "agent descriptors": 30, "agent threads": 12,
	"judge memory MB": 48, "judge descriptors": 20, "judge threads": 12,
	"disk bytes per tensor": 300,
}

func newMeasure(t *testing.T, begin time.Time, data string, l *load) *measure {
	t.Helper()
	path := os.Getenv("TENSORTAP_SOAK_SAMPLES")
	if path == "" {
		path = filepath.Join(t.TempDir(), "samples.csv")
	}
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = file.Close() })
	_, _ = fmt.Fprintln(file, "seconds,figure,value")
	return &measure{begin: begin, data: data, load: l, file: file, samples: map[string][]float64{}}
}

func (m *measure) run(over <-chan struct{}, p *parts) error {
	for tick := time.NewTicker(10 * time.Second); ; {
		select {
		case <-over:
			tick.Stop()
			return nil
		case <-tick.C:
		}
		if err := m.sample(p); err != nil {
			return err
		}
	}
}

func (m *measure) sample(p *parts) error {
	for name, pid := range p.running() {
		figures := statusOf(pid)
		if len(figures) < 2 {
			continue // just killed
		}
		if descriptors, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid)); err == nil && len(descriptors) > 0 {
			figures["descriptors"] = float64(len(descriptors))
		}
		for figure, value := range figures {
			if err := m.add(name+" "+figure, value); err != nil {
				return err
			}
		}
	}
	if tensors := m.load.account.liveTensors(); tensors > 0 {
		return m.add("disk bytes per tensor", float64(sizeOf(m.data))/float64(tensors))
	}
	return nil
}

// statusOf is the resident memory and the threads of a process.
func statusOf(pid int) map[string]float64 {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	found := map[string]float64{}
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if len(fields) < 2 {
			continue
		}
		n, _ := strconv.ParseFloat(fields[1], 64)
		switch fields[0] {
		case "VmRSS:":
			found["memory MB"] = n / 1024
		case "Threads:":
			found["threads"] = n
		}
	}
	return found
}

// sizeOf is what all files of a folder take; some vanish meanwhile.
func sizeOf(dir string) int64 {
	var size int64
	_ = filepath.WalkDir(dir, func(_ string, entry fs.DirEntry, err error) error {
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

func (m *measure) add(figure string, value float64) error {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	m.samples[figure] = append(m.samples[figure], value)
	_, err := fmt.Fprintf(m.file, "%.0f,%s,%g\n", time.Since(m.begin).Seconds(), figure, value)
	return err
}

// last is a line of the newest figures.
func (m *measure) last() string {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	var said []string
	for _, figure := range []string{"up memory MB", "up descriptors", "engine memory MB", "engine descriptors"} {
		if samples := m.samples[figure]; len(samples) > 0 {
			said = append(said, fmt.Sprintf("%s %.0f", figure, samples[len(samples)-1]))
		}
	}
	return strings.Join(said, ", ")
}

// growth is how a figure went: its median in the second and in the last fifth of the time.
type growth struct {
	figure       string
	second, last float64
}

// flat says whether it stayed.
func (g growth) flat() bool { return g.last <= 1.3*g.second+allowed[g.figure] }

func (m *measure) growths() []growth {
	var all []growth
	for figure, samples := range m.samples {
		if n := len(samples); n >= 5 {
			all = append(all, growth{figure, median(samples[n/5 : 2*n/5]), median(samples[4*n/5:])})
		}
	}
	slices.SortFunc(all, func(a, b growth) int { return strings.Compare(a.figure, b.figure) })
	return all
}

func median(samples []float64) float64 {
	sorted := slices.Sorted(slices.Values(samples))
	return sorted[len(sorted)/2]
}
