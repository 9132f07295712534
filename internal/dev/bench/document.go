package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"text/tabwriter"
	"time"
)

// section is the figures of one measurement.
type section struct {
	name, title string
	figures     []figure
	notes       []string // how it was measured, and what to know of it
}

// figure is one line of the table.
type figure struct {
	what   string
	value  string
	detail string // least and greatest of the rounds, or what it was compared with
	mark   string // what is wanted; empty where nothing is
	met    bool
}

func (s *section) add(f figure) { s.figures = append(s.figures, f) }

func (s *section) note(format string, values ...any) {
	s.notes = append(s.notes, fmt.Sprintf(format, values...))
}

func (f figure) verdict() string {
	switch {
	case f.mark == "":
		return ""
	case f.met:
		return "met"
	default:
		return "missed"
	}
}

// print writes the section for a terminal.
func (s *section) print(to io.Writer) error {
	fmt.Fprintf(to, "\n%s\n", s.title)
	table := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	for _, f := range s.figures {
		fmt.Fprintf(table, "  %s\t%s\t%s\t%s\t%s\n", f.what, f.value, f.detail, f.mark, f.verdict())
	}
	return table.Flush()
}

// document is docs/BENCHMARKS.md.
type document struct {
	options  options
	machine  string
	rounds   int
	sections []section
}

func (d document) command() string {
	command := "go run ./internal/dev/bench"
	if d.options.quick {
		command += " -quick"
	}
	if d.options.large {
		command += " -large"
	}
	if d.options.rows > 0 {
		command += fmt.Sprintf(" -rows %d", d.options.rows)
	}
	if d.options.only != "" {
		command += " -only " + d.options.only
	}
	return command + " -write " + d.options.write
}

func (d document) markdown() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "# Benchmarks\n\nWritten by `%s`, on %s:\n%s.\n\n"+
		"Each figure is the median of %d rounds unless it says otherwise; behind it the least and the greatest. Whatever is compared\n"+
		"was measured in the same run, so ratios hold where absolute figures move with the machine. Others: `make bench` in [BENCHMARKS.md](BENCHMARKS.md),\n"+
		"what the collector costs in [BENCHMARKS-torch.md](BENCHMARKS-torch.md), the page in [BENCHMARKS-web.md](BENCHMARKS-web.md).\n",
		d.command(), time.Now().UTC().Format(time.DateOnly), d.machine, d.rounds)
	for _, s := range d.sections {
		s.markdown(&b)
	}
	return b.Bytes()
}

// appendTo writes the figures behind what a document holds.
func (d document) appendTo(path string) error {
	text, err := os.ReadFile(path) //nolint:gosec // named by who runs this
	if err != nil {
		return err
	}
	b := bytes.NewBuffer(text)
	for _, s := range d.sections {
		s.markdown(b)
	}
	return os.WriteFile(path, b.Bytes(), 0o600)
}

func (s *section) markdown(b *bytes.Buffer) {
	fmt.Fprintf(b, "\n## %s\n\n| what | figure | rounds, baseline | mark | |\n|---|---|---|---|---|\n", s.title)
	for _, f := range s.figures {
		fmt.Fprintf(b, "| %s | %s | %s | %s | %s |\n", f.what, f.value, f.detail, f.mark, f.verdict())
	}
	if len(s.notes) > 0 {
		fmt.Fprintln(b)
	}
	for _, n := range s.notes {
		fmt.Fprintf(b, "* %s\n", n)
	}
}
