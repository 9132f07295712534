package sizing

import (
	"fmt"
	"math"
	"strings"
)

// fleet is one whose sizes are shown.
type fleet struct {
	ranks, each float64 // events a second of each rank
}

func fleets() []fleet {
	var all []fleet
	for _, ranks := range []float64{64, 1024, 16384} {
		for _, each := range []float64{100, 1000} {
			all = append(all, fleet{ranks, each})
		}
	}
	return all
}

const (
	daySeconds = 24 * 60 * 60
	gigabyte   = 1e9
	million    = 1e6
)

// sizes is the table of what fleets need: measured figures per event, times events.
func (f *Figures) sizes() string {
	var b strings.Builder
	b.WriteString("| ranks | events a second of each | in all | times what was measured | cores: NATS | ClickHouse | `consume`, tables | `consume`, archive | memory, GB | GB a day: stream | tables | archive |\n" +
		"|---|---|---|---|---|---|---|---|---|---|---|---|\n")
	for _, of := range fleets() {
		rate := of.ranks * of.each
		fmt.Fprintf(&b, "| %s | %.0f | %s | %s |", thousands(of.ranks), of.each, thousands(rate), short(rate/f.Rate))
		for _, p := range f.Parts[:4] {
			fmt.Fprintf(&b, " %s |", short(p.Seconds*rate/million))
		}
		fmt.Fprintf(&b, " %s |", short(f.memory(rate)/gigabyte))
		for _, bytes := range []float64{f.Bytes.Stream, f.Bytes.Tables, f.Bytes.Archive} {
			fmt.Fprintf(&b, " %s |", short(bytes*rate*daySeconds/gigabyte))
		}
		b.WriteString("\n")
	}
	return b.String()
}

// memory is that of as many processes of each of the four parts that carry the events as have the cores for the rate.
func (f *Figures) memory(rate float64) (bytes float64) {
	for _, p := range f.Parts[:4] {
		bytes += p.Shared * math.Max(1, math.Ceil(rate/f.Rate))
	}
	return bytes
}

// short is a number with as many digits as tell something.
func short(v float64) string {
	switch {
	case v < 0.095:
		return fmt.Sprintf("%.2f", v)
	case v < 9.95:
		return fmt.Sprintf("%.1f", v)
	default:
		return thousands(v)
	}
}

// thousands is a whole number, in groups of three digits.
func thousands(v float64) string {
	text := fmt.Sprintf("%.0f", v)
	for at := len(text) - 3; at > 0; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	return text
}
