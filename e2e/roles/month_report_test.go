package roles

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/tensortap/tensortap/e2e/internal/measured"
	"github.com/tensortap/tensortap/internal/dev/marked"
	"github.com/tensortap/tensortap/internal/dev/processes"
)

const megabyte = 1 << 20

// What a figure may grow by from the second week of a month to its last: a tenth, and that much more.
const (
	growthFactor   = 1.1
	moreOnDisk     = 16  // MB of a place: files that wait to be merged or removed
	moreMemory     = 48  // MB of a process
	moreOfDatabase = 128 // MB of the database's, whose caches fill
)

func placesAndRoles() []string {
	return []string{
		"stream, MB", "tables, MB", "archive, MB", "spools, MB", "other files, MB",
		"memory of nats, MB", "memory of engine, MB", "memory of tables, MB", "memory of archive, MB", "memory of judge, MB", "memory of alert, MB", "memory of agent, MB",
	}
}

// more is what a figure may grow by beside the factor.
func more(figure string) float64 {
	switch {
	case figure == "memory of engine, MB":
		return moreOfDatabase
	case strings.HasPrefix(figure, "memory"):
		return moreMemory
	default:
		return moreOnDisk
	}
}

// sample measures each place and each role once a day.
func (m *month) sample() {
	m.t.Helper()
	sizes := map[string]int64{
		"stream": measured.Folder(m.staff.nats.Dir), "tables": measured.Folder(m.staff.engine.Dir), "archive": measured.Folder(m.staff.archive),
	}
	for _, root := range m.staff.roots {
		sizes["spools"] += measured.Folder(root)
	}
	sizes["other files"] = measured.Folder(m.staff.data) - sizes["archive"]
	for place, size := range sizes {
		m.add(place+", MB", float64(size)/megabyte)
	}
	for name, pid := range m.staff.running() {
		m.add("memory of "+name+", MB", processes.Figures(pid)["memory MB"])
	}
}

func (m *month) add(figure string, value float64) {
	m.t.Helper()
	if err := m.samples.Add(figure, value); err != nil {
		m.t.Fatal(err)
	}
}

// weeks are the days of a month that are held against each other: of 30 days those from 4 to 10 and from 24 to 30. Less than
// five days have none.
func weeks(days int) (early, late measured.Span) {
	const settled, parts = 3, 4
	if days < settled+2 {
		return early, late
	}
	length := max(1, (days-settled+2)/parts)
	return measured.Span{First: settled, End: settled + length}, measured.Span{First: days - length, End: days}
}

// report prints the figures, says what is wrong, and writes them into the document of TENSORTAP_MONTH_REPORT.
func (m *month) report() {
	m.t.Helper()
	wrong, again := reckoning(m.planted(), m.heard.all(), m.staff.deathsOf("alert"))
	for _, words := range wrong {
		m.t.Error(words)
	}
	text := m.account(again) + m.growths()
	m.t.Log("\n" + text)
	if m.t.Failed() {
		return
	}
	if path := os.Getenv("TENSORTAP_MONTH_REPORT"); path != "" {
		if err := marked.Write(path, "month", text); err != nil {
			m.t.Fatal(err)
		}
	}
}

// account is what was done, and what came of it.
func (m *month) account(again int) string {
	var text strings.Builder
	fmt.Fprintf(&text, "`make month DAYS=%d MINUTES=%v` on %s, %d cores, in %.0f min; seed %d; the longest day was over by %v:\n\n",
		m.days, m.day.Minutes(), time.Now().UTC().Format(time.DateOnly), runtime.NumCPU(), time.Since(m.begin).Minutes(), m.seed, m.late.Round(time.Second))
	fmt.Fprintf(&text, "* %d runs of %d ranks on %d hosts, of %d steps each; deaths: %s; %d roles began while a server was away, and were started again\n", len(m.ranks.written), monthRanks, hosts, monthSteps, m.staff, m.staff.again)
	fmt.Fprintf(&text, "* %d tensors were written, each is in the tables and in the archive once; each step is judged once\n", m.stores.audited)
	fmt.Fprintf(&text, "* %d runs went when their time was over, %v after their end, from every store; a pinned one and the bench of the baseline stay\n", len(m.stores.gone), m.staff.lifetime)
	fmt.Fprintf(&text, "* %d alerts were planted (%s); %s told each once, and nothing else; %d were told again of the same change after a death between\n",
		len(m.planted()), m.plantedByRule(), strings.Join(tellers(), ", ")+" were", again)
	return text.String()
}

func (m *month) plantedByRule() string {
	counts := map[string]int{}
	for _, p := range m.planted() {
		counts[p.rule]++
	}
	var said []string
	for _, rule := range []string{"first-nan", "first-divergence", "baseline-verdict", "memory-growth", "rank-silent", "straggler"} {
		said = append(said, fmt.Sprint(counts[rule], " ", rule))
	}
	return strings.Join(said, ", ")
}

// growths is the table of figures. One that grew is an error.
func (m *month) growths() string {
	m.t.Helper()
	early, late := weeks(m.days)
	if early == late {
		return ""
	}
	var text strings.Builder
	fmt.Fprintf(&text, "\n| figure | median of days %d to %d | of days %d to %d |\n|---|---|---|\n", early.First+1, early.End, late.First+1, late.End)
	for _, g := range m.samples.Growths(weeks) {
		fmt.Fprintf(&text, "| %s | %.0f | %.0f |\n", g.Figure, g.Early, g.Late)
		if !g.Within(growthFactor, more(g.Figure)) {
			m.t.Errorf("%s grew from %.0f to %.0f", g.Figure, g.Early, g.Late)
		}
	}
	return text.String()
}
