package report

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/tensortap/tensortap/internal/plural"
)

// Crash has what is known of the end of a run's ranks: the answer of report crash.
type Crash struct {
	Run       string
	Ranks     Table // in the order in which they went
	StoppedNs int64 // when its user stopped it, as who ran it knows; 0 for not known
}

// What a rank did last, as the column how has it.
const (
	howRaised   = "raised"
	howStopped  = "stopped"
	howDied     = "died"
	howWaiting  = "waiting"
	howPeerGone = "peer gone"
)

// Any says whether a rank raised in its last step, or died.
func (c *Crash) Any() bool { return len(c.Ranks.Rows) > 0 && fell(c.how(0)) }

// signOfLife is how long before its end a rank may have given its last sign of life.
const signOfLife = 3 * time.Second

// Stopped says whether the user ended the run, and no rank had gone before.
func (c *Crash) Stopped() bool {
	if len(c.Ranks.Rows) == 0 {
		return false
	}
	last := c.Ranks.Get(0, "last_time_ns")
	asked := c.StoppedNs != 0 && fell(c.how(0)) && !last.Null && int64(last.Number) >= c.StoppedNs-int64(signOfLife)
	return asked || c.how(0) == howStopped
}

// Died says whether a rank ended without a word. Processes that the program itself made may: those of a pool are ended so.
func (c *Crash) Died() bool {
	return slices.ContainsFunc(c.rows(), func(i int) bool { return !c.isChild(i) && (c.how(i) == howDied || c.how(i) == howWaiting) })
}

// Fatal says whether a rank told in its log that it fails, as engines do that end well all the same.
func (c *Crash) Fatal() bool {
	return slices.ContainsFunc(c.rows(), func(i int) bool { return c.text(i, "fatal") == "1" })
}

// isChild says whether a process of the program made that of the rank.
func (c *Crash) isChild(i int) bool { return c.text(i, "child") == "1" }

// who is a rank, in words.
func (c *Crash) who(i int) string {
	if c.isChild(i) {
		return "rank " + c.text(i, "rank") + ", a child of the program's own,"
	}
	return "rank " + c.text(i, "rank")
}

func fell(how string) bool {
	return slices.Contains([]string{howRaised, howDied, howWaiting, howPeerGone}, how)
}

func (c *Crash) rows() []int {
	rows := make([]int, len(c.Ranks.Rows))
	for i := range rows {
		rows[i] = i
	}
	return rows
}

func (c *Crash) how(i int) string { return c.Ranks.Get(i, "how").Exact }

// text is a value for reading; empty where there is none.
func (c *Crash) text(i int, column string) string {
	if v := c.Ranks.Get(i, column); !v.Null && v.Exact != "[]" {
		return v.Text()
	}
	return ""
}

// Headline says what died first, or that nothing did.
func (c *Crash) Headline() string {
	if c.Stopped() {
		return fmt.Sprintf("run %s was stopped by its user: %s was %s, at %s UTC", Printable(c.Run), c.who(0), c.place(0), c.text(0, "last_time_ns"))
	}
	if !c.Any() {
		return fmt.Sprintf("run %s: no rank died or raised", Printable(c.Run))
	}
	return fmt.Sprintf("run %s: %s was the first to go: it %s %s, at %s UTC", Printable(c.Run), c.who(0), c.ending(0), c.place(0), c.text(0, "last_time_ns"))
}

// ending is how a rank ended, in words.
func (c *Crash) ending(i int) string {
	signal := c.text(i, "signal")
	switch how := c.how(i); {
	case how == howRaised:
		return "raised"
	case how == howStopped:
		return "was stopped"
	case how == howPeerGone:
		return "raised as another was gone"
	case fell(how) && signal != "":
		return "died by signal " + signal
	case how == howDied && c.text(i, "type") != "":
		return "died of a fatal error"
	case how == howDied:
		return "died without a word"
	case how == howWaiting:
		return "died as it waited for others"
	default:
		return how
	}
}

// place is the step and the op in which a rank ended.
func (c *Crash) place(i int) string {
	if since := c.text(i, "idle_since_time_ns"); since != "" {
		return fmt.Sprintf("idle since %s UTC, after step %s", since, c.text(i, "step"))
	}
	where := "before its first step"
	if step := c.text(i, "step"); step != "" {
		where = "in step " + step
	}
	if op := c.text(i, "op"); op != "" {
		where += ", op " + op
	}
	if module := c.text(i, "module"); module != "" {
		where += " of module " + module
	}
	return where
}

// Details say more of the rank that died first, a fact a line.
func (c *Crash) Details() []string {
	if !c.Any() {
		return nil
	}
	var lines []string
	for _, fact := range []struct{ name, text string }{
		{"error", strings.TrimPrefix(c.text(0, "type")+": "+c.text(0, "message"), ": ")},
		{"called from", c.oneLine(0, "user_frame", "")},
		{"inputs", c.oneLine(0, "inputs", "; ")},
		{"requests", some(c.Ranks.Get(0, "requests").List())},
		{"memory", c.memory(0)},
		{"process", c.process(0)},
	} {
		if fact.text != "" {
			lines = append(lines, fmt.Sprintf("%-12s %s", fact.name, fact.text))
		}
	}
	return lines
}

// oneLine is a text of several lines as one.
func (c *Crash) oneLine(i int, column, between string) string {
	v := c.Ranks.Get(i, column)
	v.Exact = strings.ReplaceAll(v.Exact, "\n", between)
	if v.Null {
		return ""
	}
	return v.Text()
}

// requestsShown is the number of a step's requests that are named.
const requestsShown = 8

// some are the first of the names, and how many more there are.
func some(names []string) string {
	text := Printable(strings.Join(names[:min(requestsShown, len(names))], ", "))
	if more := len(names) - requestsShown; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

const mebibyte = 1 << 20

// memory is what a rank used when that was last measured.
func (c *Crash) memory(i int) string {
	if c.text(i, "memory_step") == "" {
		return ""
	}
	parts := []string{"after step " + c.text(i, "memory_step")}
	for _, of := range []struct{ column, words string }{{"host_resident_bytes", "by the process"}, {"allocated_bytes", "by tensors on its device"}} {
		if v := c.Ranks.Get(i, of.column); !v.Null {
			parts = append(parts, fmt.Sprintf("%.0f MiB %s", v.Number/mebibyte, of.words))
		}
	}
	if v := c.Ranks.Get(i, "refused_allocation_count"); v.Number > 0 {
		parts = append(parts, plural.Of(int(v.Number), "allocation")+" refused")
	}
	return strings.Join(parts, ", ")
}

func (c *Crash) process(i int) string {
	text := ""
	if pid := c.text(i, "pid"); pid != "" {
		text = "pid " + pid
	}
	if host := c.text(i, "host"); host != "" {
		text += " on " + host
	}
	return text
}

// Others say what each other rank was doing.
func (c *Crash) Others() []string {
	var lines []string
	for _, i := range c.rows() {
		if i == 0 && c.Any() {
			continue
		}
		line := fmt.Sprintf("rank %s: %s %s", c.text(i, "rank"), c.ending(i), c.place(i))
		if seconds := c.Ranks.Get(i, "op_seconds"); !seconds.Null && seconds.Number >= 0.1 && c.text(i, "idle_since_time_ns") == "" {
			line += fmt.Sprintf(", for %.1f s", seconds.Number)
		}
		lines = append(lines, line)
	}
	return lines
}

// Write writes the page.
func (c *Crash) Write(to io.Writer, style Style) error {
	lines := append([]string{c.Headline()}, indented(c.Details())...)
	if others := c.Others(); len(others) > 0 {
		title := "the ranks:"
		if c.Any() {
			title = "the other ranks, in the order in which they went:"
		}
		lines = append(lines, "", title)
		lines = append(lines, indented(others)...)
	}
	lines = append(lines, c.lastLines()...)
	lines = append(lines, "", "next:")
	argument := Argument(c.Run)
	for _, more := range []string{"report crash --vertical --run ", "report failures --run ", "logs --run "} {
		lines = append(lines, "  "+style.program()+" "+more+argument)
	}
	_, err := fmt.Fprintln(to, strings.Join(lines, "\n"))
	return err
}

func indented(lines []string) []string {
	moved := make([]string, len(lines))
	for i, line := range lines {
		moved[i] = "  " + line
	}
	return moved
}

// lastLines are what each rank has last written.
func (c *Crash) lastLines() []string {
	var lines []string
	for _, i := range c.rows() {
		for _, text := range c.Ranks.Get(i, "last_lines").List() {
			lines = append(lines, fmt.Sprintf("  rank %s | %s", c.text(i, "rank"), Printable(text)))
		}
	}
	if len(lines) == 0 {
		return nil
	}
	return append([]string{"", "the last lines of each:"}, lines...)
}
