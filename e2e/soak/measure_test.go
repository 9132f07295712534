package soak

import (
	"os"
	"testing"
	"time"

	"github.com/tensortap/tensortap/e2e/internal/measured"
	"github.com/tensortap/tensortap/internal/dev/processes"
)

// measure records what the parts take, each ten seconds.
type measure struct {
	*measured.Samples

	data string
	load *load
}

// allowed is what a figure may grow by beside a factor of 1.3: what a process takes that has just begun, or caches fill.
var allowed = map[string]float64{ //nolint:gochecknoglobals // by figure
	"up memory MB": 64, "up descriptors": 60, "up threads": 12,
	"engine memory MB": 300, "engine descriptors": 120, "engine threads": 60,
	"agent memory MB": 48, "agent descriptors": 30, "agent threads": 12,
	"judge memory MB": 48, "judge descriptors": 20, "judge threads": 12,
	"disk bytes per tensor": 300,
}

func newMeasure(t *testing.T, data string, l *load) *measure {
	t.Helper()
	return &measure{measured.NewSamples(t, os.Getenv("TENSORTAP_SOAK_SAMPLES")), data, l}
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
		figures := processes.Figures(pid)
		if len(figures) == 0 {
			continue // just killed
		}
		for figure, value := range figures {
			if err := m.Add(name+" "+figure, value); err != nil {
				return err
			}
		}
	}
	if tensors := m.load.account.liveTensors(); tensors > 0 {
		return m.Add("disk bytes per tensor", float64(measured.Folder(m.data))/float64(tensors))
	}
	return nil
}

// last is a line of the newest figures.
func (m *measure) last() string {
	return m.Last("up memory MB", "up descriptors", "engine memory MB", "engine descriptors")
}

// flat says whether a figure stayed.
func flat(g measured.Growth) bool { return g.Within(1.3, allowed[g.Figure]) }

// fifths are the second and the last fifth of the time.
func fifths(samples int) (second, last measured.Span) {
	if samples < 5 {
		return second, last
	}
	return measured.Span{First: samples / 5, End: 2 * samples / 5}, measured.Span{First: 4 * samples / 5, End: samples}
}
