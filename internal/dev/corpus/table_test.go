package corpus_test

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/tensortap/tensortap/analysis/report"
	"github.com/tensortap/tensortap/internal/dev/corpus"
)

// header explains the table to its readers.
const header = `# The corpus of faults

Pairs of runs with a known difference, our verdicts on them, and msProbe's verdicts on the same rows. The test of
internal/dev/corpus writes this page. Pairs marked * are as msProbe recorded them. The others are recorded dumps,
changed as the fault would have changed them, downstream included.

*We say* lists the verdict of the comparison, then the verdicts on the rows of the fault, then the origin named.
A row *agrees* when the recorded evidence cannot tell both sides apart; it is never called equal.

`

// write makes the document of the lines.
func (l *table) write(t *testing.T, path string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(l.markdown()), 0o600); err != nil {
		t.Fatal(err)
	}
}

// compare holds the document against the lines.
func (l *table) compare(t *testing.T, path string) {
	t.Helper()
	want, err := os.ReadFile(path) //nolint:gosec // our own document
	if err != nil {
		t.Fatalf("%v; go test ./internal/dev/corpus -update writes it", err)
	}
	if got := l.markdown(); got != string(want) {
		t.Errorf("docs/corpus.md is not what the corpus gives; go test ./internal/dev/corpus -update writes it\n%s", firstDifference(got, string(want)))
	}
}

func firstDifference(got, want string) string {
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range g {
		if i >= len(w) || g[i] != w[i] {
			return fmt.Sprintf("line %d\ngot  %s\nwant %s", i+1, g[i], strings.Join(w[min(i, len(w)):min(i+1, len(w))], ""))
		}
	}
	return "it has more lines"
}

func (l *table) markdown() string {
	var b strings.Builder
	b.WriteString(header)
	shown, right := l.origins()
	fmt.Fprintf(&b, "Where the evidence shows the origin of a fault, the first origin named is right in %d of %d cases (%.1f %%).\n", right, shown, 100*float64(right)/float64(shown))
	b.WriteString(l.promises())
	for _, harmless := range []bool{false, true} {
		title := "Faults"
		if harmless {
			title = "Harmless pairs"
		}
		fmt.Fprintf(&b, "\n## %s\n\n| case | capture mode | what was done | we say | msProbe says | why |\n|---|---|---|---|---|---|\n", title)
		for _, number := range slices.Sorted(maps.Keys(l.lines)) {
			if line := l.lines[number]; line.Harmless == harmless {
				b.WriteString(line.markdown())
			}
		}
	}
	return b.String()
}

func (l line) markdown() string {
	id := l.ID
	if l.Recorded {
		id += " *"
	}
	says := []string{string(l.verdict)}
	if sites := l.siteVerdicts(); sites != "" {
		says = append(says, sites)
	}
	if len(l.suspects) > 0 && !l.Harmless {
		says = append(says, l.suspects[0].String())
	}
	cells := []string{id, l.Mode, l.What, strings.Join(says, "; "), l.msprobe, l.why()}
	for i, cell := range cells {
		cells[i] = strings.ReplaceAll(report.Printable(cell), "|", `\|`)
	}
	return "| " + strings.Join(cells, " | ") + " |\n"
}

// promises says of all faults how their rows are judged.
func (l *table) promises() string {
	tooGood, tolerated := 0, []string{}
	for _, number := range slices.Sorted(maps.Keys(l.lines)) {
		line := l.lines[number]
		if line.Harmless {
			continue
		}
		if slices.ContainsFunc(line.sites, judged.proved) {
			tooGood++
		}
		if slices.ContainsFunc(line.sites, judged.tolerated) {
			tolerated = append(tolerated, line.ID)
		}
	}
	return fmt.Sprintf("In %d cases a row of a fault is called equal or within. Such a row agrees only if both sides recorded the same there,\n"+
		"except in these cases, which lie within the tolerance, as the last column says: %s.\n", tooGood, strings.Join(tolerated, ", "))
}

// siteVerdicts is how the rows of the fault are judged, each verdict once.
func (l line) siteVerdicts() string {
	var all []string
	for _, s := range l.sites {
		text := s.verdict
		if s.reason != "" {
			text += " (" + s.reason + ")"
		} else if s.evidence != "none" {
			text += " on " + s.evidence
		}
		if !slices.Contains(all, text) {
			all = append(all, text)
		}
	}
	return strings.Join(all, ", ")
}

// why says what the answer rests on.
func (l line) why() string {
	same := slices.ContainsFunc(l.sites, judged.sameEvidence)
	switch {
	case l.Harmless:
		return l.Shaped
	case l.Hidden != "":
		return l.Hidden + l.within()
	case l.OfRun != "":
		return l.ofRun()
	case !l.originIsRight(l.Case):
		return "the origin is wrong: " + expected(l.Origin)
	case same:
		return "a row of the fault has the same record on both sides; later rows have not"
	}
	return ""
}

// ofRun says how a fault of a whole run is told.
func (l line) ofRun() string {
	return "reported once for the two runs: their " + l.OfRun + " differs; no origin" + l.within()
}

// within says so of numbers that are not the same, and agree.
func (l line) within() string {
	i := slices.IndexFunc(l.sites, judged.tolerated)
	if i < 0 {
		return ""
	}
	return "; the numbers are within the tolerance of " + strconv.FormatFloat(l.sites[i].tolerance, 'g', 6, 64) + ", which statistics cannot prove"
}

func expected(o corpus.Origin) string {
	return fmt.Sprintf("ranks %v step %d, one of %s", o.Ranks, o.Step, strings.Join(o.Ops, ", "))
}
