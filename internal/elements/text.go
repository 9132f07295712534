package elements

import (
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/tensortap/tensortap/internal/payload"
	"github.com/tensortap/tensortap/internal/plural"
	"github.com/tensortap/tensortap/internal/torchfile"
)

// lines collects what people read.
type lines struct {
	strings.Builder
	width int
}

// line writes a label, and a value that may be wider than a line.
func (l *lines) line(label, format string, args ...any) {
	_, _ = fmt.Fprintf(l, "%-12s%s\n", label, fmt.Sprintf(format, args...)) // a builder never fails
}

// WriteText writes a look for people, in lines of that width where it draws.
func (l *Look) WriteText(to io.Writer, width int) error {
	t := &lines{width: width}
	t.line("tensor", "%s", l.Name)
	t.line("shape", "%v  %s  %s  %s", l.Shape, l.Dtype, plural.Of(l.Statistics.Count, "element"), plural.Of(l.Bytes(), "byte"))
	l.statistics(t)
	for kind, places := range l.NotFinite {
		if places.Count > 0 {
			t.line(Kind(kind).String(), "%d%s", places.Count, places.at())
		}
	}
	for i, one := range l.Greatest {
		t.line(first(i, "greatest"), "%-20s  %s", indexText(one.Index), one.Text)
	}
	t.histogram("histogram", l.Histogram)
	_, err := io.WriteString(to, t.String())
	return err
}

func (l *Look) statistics(t *lines) {
	s := &l.Statistics
	if s.Count == 0 {
		t.line("elements", "none")
		return
	}
	t.line("finite", "%d  zero %d  subnormal %d", s.Finite, s.Zero, s.Subnormal)
	if s.Finite == 0 {
		return
	}
	of := ""
	if l.Dtype == torchfile.Complex64 || l.Dtype == torchfile.Complex128 {
		of = "  (of magnitudes)"
	}
	t.line("statistics", "min %.6g  max %.6g  mean %.6g  std %.6g  l1 %.6g  l2 %.6g%s",
		s.Min, s.Max, s.Mean, l.Deviation(), s.L1, s.L2(), of)
}

// Deviation is the standard deviation of the finite elements.
func (l *Look) Deviation() float64 {
	return math.Sqrt(l.Statistics.M2 / max(float64(l.Statistics.Finite), 1))
}

func first(i int, label string) string {
	if i == 0 {
		return label
	}
	return ""
}

// at names the first places.
func (p *Places) at() string {
	if p.Count == 0 {
		return ""
	}
	parts := []string{" at"}
	for _, index := range p.First {
		parts = append(parts, indexText(index))
	}
	if more := p.Count - uint64(len(p.First)); more > 0 {
		parts = append(parts, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(parts, " ")
}

// indexText is an index as a program writes it.
func indexText(index []int64) string { return strings.ReplaceAll(fmt.Sprint(index), " ", ", ") }

// histogram draws bars of plain characters, the longest as wide as there is room.
func (l *lines) histogram(label string, bins []Bin) {
	const beside = 12 + 2*10 + 4 + 12 // of the label, both ends and the count
	var most uint64
	for _, bin := range bins {
		most = max(most, bin.Count)
	}
	room := min(max(l.width-beside, 8), 100)
	for i, bin := range bins {
		bar := 0
		if most > 0 {
			bar = int(math.Ceil(float64(bin.Count) / float64(most) * float64(room)))
		}
		l.line(first(i, label), "%10.3g  %10.3g  %s", bin.From, bin.To, strings.TrimLeft(fmt.Sprintf("%s %d", strings.Repeat("#", bar), bin.Count), " "))
	}
}

// WriteText writes a difference for people.
func (d *Difference) WriteText(to io.Writer, width int) error {
	t := &lines{width: width}
	d.sides(t)
	t.line("result", "%s", d.Result())
	if d.Where != "" {
		t.line("where", "%s", d.Where)
	}
	if how := d.said(); how != "" {
		t.line("how", "%s", how)
	}
	d.distance(t)
	for i, a := range d.Axes {
		t.line(axisLabel(i), "%d of %d indices differ: %s%s", a.Differ, a.Size, a.List(Shown), groups(a))
	}
	d.mismatches(t)
	for i, p := range d.Worst {
		t.line(first(i, "worst"), "%-20s  problem %-14s  bench %-14s  difference %-12.6g  relative %.3g", indexText(p.Index), p.Problem, p.Bench, p.Apart, p.Relative)
	}
	t.histogram("differences", d.Histogram)
	_, err := io.WriteString(to, t.String())
	return err
}

func (d *Difference) sides(t *lines) {
	for i, side := range []*Side{&d.Problem, &d.Bench} {
		s := &side.Statistics
		t.line([...]string{"problem", "bench"}[i], "%s", side.Name)
		t.line("", "%v  %s  min %.6g  max %.6g  mean %.6g  l2 %.6g  NaN %d  Inf %d",
			side.Shape, side.Dtype, s.Min, s.Max, s.Mean, s.L2(), s.NaN, s.PositiveInfinity+s.NegativeInfinity)
	}
}

// Result says in words whether the tensors differ.
func (d *Difference) Result() string {
	switch {
	case d.ShapesDiffer:
		return fmt.Sprintf("differs: the shapes are %v and %v", d.Problem.Shape, d.Bench.Shape)
	case d.Same && d.Changed == 0:
		return "same: " + d.equal()
	case d.Same:
		return fmt.Sprintf("same within %g: %d of %s %s not equal", d.Within, d.Changed, plural.Of(d.Compared, "element"), plural.Verb(d.Changed, "is", "are"))
	case d.Changed == 0:
		return fmt.Sprintf("differs: %s, the dtypes are not", d.equal())
	}
	return fmt.Sprintf("differs: %d of %s (%.3g %%), %d of them by more than %g of their size",
		d.Changed, plural.Of(d.Compared, "element"), 100*float64(d.Changed)/float64(d.Compared), d.Beyond, d.Within)
}

// equal says that all elements are.
func (d *Difference) equal() string {
	return fmt.Sprintf("all %s %s equal", plural.Of(d.Compared, "element"), plural.Verb(d.Compared, "is", "are"))
}

// rule says how, and how it is known.
func (d *Difference) said() string {
	switch {
	case d.How != "" && d.Sampled > 0:
		return fmt.Sprintf("%s (tried on %s)", d.How, plural.Of(d.Sampled, "element"))
	case d.How == "" && d.Sampled > 0:
		return "no rule was found: neither scaled, moved, permuted, offset nor constant"
	}
	return d.How
}

func (d *Difference) distance(t *lines) {
	var said []string
	for _, fact := range numbers(&d.Distance) {
		if fact.value != nil {
			said = append(said, fmt.Sprintf("%s %.6g", fact.name, *fact.value))
		}
	}
	if len(said) > 0 {
		t.line("distance", "%s", strings.Join(said, "  "))
	}
}

// fact is a number with its name, nil where it is not defined.
type fact struct {
	name  string
	value *float64
}

func numbers(r *payload.Result) []fact {
	return []fact{
		{"cosine", r.Cosine},
		{"relative_l2", r.RelativeL2},
		{"l2_distance", r.L2Distance},
		{"max_absolute", r.MaxAbsolute},
		{"max_relative", r.MaxRelative},
		{"thousandth_ratio", r.Thousandth},
		{"five_thousandth_ratio", r.FiveThousandth},
	}
}

func (d *Difference) mismatches(t *lines) {
	for kind := range d.NotFinite {
		m := &d.NotFinite[kind]
		for i, of := range []*Places{&m.Problem, &m.Bench} {
			if of.Count > 0 {
				t.line(Kind(kind).String(), "%d in %s alone%s", of.Count, [...]string{"the problem", "the bench"}[i], of.at())
			}
		}
	}
}

func axisLabel(i int) string { return fmt.Sprintf("axis %d", i) }

func groups(a Axis) string {
	if a.Group == 1 {
		return ""
	}
	return fmt.Sprintf(" (indices are told apart in groups of %d)", a.Group)
}
