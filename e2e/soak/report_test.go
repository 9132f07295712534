package soak

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/tensortap/tensortap/internal/dev/marked"
)

// report prints the table of figures, says which grew, and writes it into the document of TENSORTAP_SOAK_REPORT.
func (s *soak) report() {
	s.t.Helper()
	var text strings.Builder
	steps, differing := s.load.account.judged()
	fmt.Fprintf(&text, "`make soak MINUTES=%.0f KILLS=%d OUTAGE=%v` on %s, %d cores, in %.0f min; seed %d:\n\n",
		s.length.Minutes(), s.kills, s.outage, time.Now().UTC().Format(time.DateOnly), runtime.NumCPU(), time.Since(s.begin).Minutes(), s.seed)
	fmt.Fprintf(&text, "* kills: %s; %s\n* %d steps judged once each, %d of them differ, as written\n", s.parts, s.load.account, steps, differing)
	for _, event := range s.events {
		fmt.Fprintf(&text, "* %s\n", strings.Join(strings.Fields(event), " "))
	}
	if n := s.parts.goroutines; len(n) > 0 {
		fmt.Fprintf(&text, "* goroutines of `up`, each time it was asked: %d to %d, at last %d\n", slices.Min(n), slices.Max(n), n[len(n)-1])
	}
	fmt.Fprint(&text, "\n| figure | median of the second fifth | of the last |\n|---|---|---|\n")
	for _, g := range s.measure.Growths(fifths) {
		fmt.Fprintf(&text, "| %s | %.0f | %.0f |\n", g.Figure, g.Early, g.Late)
		if !flat(g) {
			s.t.Errorf("%s grew from %.0f to %.0f", g.Figure, g.Early, g.Late)
		}
	}
	s.t.Log("\n" + text.String())
	if path := os.Getenv("TENSORTAP_SOAK_REPORT"); path != "" && !s.t.Failed() {
		if err := marked.Write(path, "soak", text.String()); err != nil {
			s.t.Fatal(err)
		}
	}
}
