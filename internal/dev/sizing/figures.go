// Package sizing has the figures of a fleet under load, as docs/BENCHMARKS-load.md shows them, and what fleets of other sizes
// need by these, as docs/OPERATIONS.md shows it.
package sizing

import (
	"fmt"
	"strings"
)

// Figures are what `make load` measures.
type Figures struct {
	How   string // by which command, when, on what
	Rate  float64
	Lag   Quantiles // from the moment a step is due until it is queryable, seconds
	Calls Quantiles // from the call of Publish until the stream has the step, seconds
	Parts []Part
	Bytes Bytes
	Twice Twice
	Harms []Harm
}

// Quantiles of a figure.
type Quantiles struct{ P50, P99 float64 }

// Part is a process of the fleet.
type Part struct {
	Name    string
	Seconds float64 // of processors, per million events
	Shared  float64 // greatest PSS, bytes
	Single  float64 // greatest RSS, bytes
}

// Bytes on the disk, per event.
type Bytes struct{ Stream, Tables, Archive float64 }

// Twice is what came of twice the rate.
type Twice struct {
	Rate     float64 // that was published, events a second
	Lag      float64 // the longest, seconds
	Recovery float64 // seconds
}

// Harm is what something wrong with one part did to publishers.
type Harm struct {
	Name         string
	Calm, During Quantiles // seconds of each step until the stream had it
	Recovery     float64   // seconds; 0 where nothing has to catch up
}

// Names of parts. Those of the roles are their commands.
const (
	NATS       = "NATS server"
	ClickHouse = "ClickHouse engine"
	Tables     = "`consume --store tables`"
	Archive    = "`consume --store archive`"
	Judge      = "`judge`"
	Alert      = "`alert`"
	Agents     = "all agents"
)

// Markdown is the figures as the document shows them. Read reads them there.
func (f *Figures) Markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n| | figure |\n|---|---|\n", f.How)
	row := func(what, form string, values ...any) {
		fmt.Fprintf(&b, "| %s | %s |\n", what, fmt.Sprintf(form, values...))
	}
	row(rateRow, "%.0f", f.Rate)
	row("published to queryable", "p50 %.2f s, p99 %.2f s", f.Lag.P50, f.Lag.P99)
	row("a step, from `Publish` until the stream has it", "p50 %.1f ms, p99 %.1f ms", 1e3*f.Calls.P50, 1e3*f.Calls.P99)
	row("at twice the rate: events a second that were published", "%.0f", f.Twice.Rate)
	row("at twice the rate: longest time to queryable", "%.1f s", f.Twice.Lag)
	row("from the end of that, at half the rate, until the lag is what it was", "%.0f s", f.Twice.Recovery)
	row(streamRow, "%.1f", f.Bytes.Stream)
	row(tablesRow, "%.1f", f.Bytes.Tables)
	row(archiveRow, "%.1f", f.Bytes.Archive)
	b.WriteString("\n| process | processor seconds per million events | most memory (PSS), MB | (RSS), MB |\n|---|---|---|---|\n")
	for _, p := range f.Parts {
		fmt.Fprintf(&b, "| %s | %.2f | %.0f | %.0f |\n", p.Name, p.Seconds, p.Shared/1e6, p.Single/1e6)
	}
	b.WriteString("\n| harm | a step until the stream has it, p50 | without | ratio | p99 | without | ratio | recovered after |\n|---|---|---|---|---|---|---|---|\n")
	for _, h := range f.Harms {
		fmt.Fprintf(&b, "| %s | %s | %s | %.1f s |\n", h.Name, compared(h.During.P50, h.Calm.P50), compared(h.During.P99, h.Calm.P99), h.Recovery)
	}
	return b.String()
}

// compared are two times and their ratio.
func compared(during, calm float64) string {
	return fmt.Sprintf("%.1f ms | %.1f ms | %.2f", 1e3*during, 1e3*calm, during/calm)
}

const (
	rateRow    = "events a second, the greatest rate that holds"
	streamRow  = "bytes per event in the stream"
	tablesRow  = "bytes per event in the tables"
	archiveRow = "bytes per event in the archive"
)

// Read finds in a document what sizes are reckoned from: rate, bytes, and the parts.
func Read(document string) (*Figures, error) {
	rows := map[string][]float64{}
	for line := range strings.Lines(document) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		var numbers []float64
		for _, cell := range cells[1:] {
			var n float64
			if _, err := fmt.Sscan(strings.TrimSpace(cell), &n); err == nil {
				numbers = append(numbers, n)
			}
		}
		rows[strings.TrimSpace(cells[0])] = numbers
	}
	f := &Figures{}
	for name, to := range map[string]*float64{rateRow: &f.Rate, streamRow: &f.Bytes.Stream, tablesRow: &f.Bytes.Tables, archiveRow: &f.Bytes.Archive} {
		if len(rows[name]) != 1 || rows[name][0] <= 0 {
			return nil, fmt.Errorf("the document has no row %q with a number", name)
		}
		*to = rows[name][0]
	}
	for _, name := range []string{NATS, ClickHouse, Tables, Archive, Judge, Alert, Agents} {
		if len(rows[name]) != 3 {
			return nil, fmt.Errorf("the document has no row %q with three numbers", name)
		}
		const megabyte = 1e6
		f.Parts = append(f.Parts, Part{name, rows[name][0], rows[name][1] * megabyte, rows[name][2] * megabyte})
	}
	return f, nil
}
