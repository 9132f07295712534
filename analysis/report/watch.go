package report

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/tensortap/tensortap/internal/plural"
)

// WatchEvent is one thing that a watch has to say. As JSON it is an object a
// line; its fields stay, more may come.
type WatchEvent struct {
	Event        string   `json:"event"` // waiting, going_on, mapped, step, divergence or end
	For          string   `json:"for,omitempty"`
	Nearest      []string `json:"nearest,omitempty"` // while waiting for a run: the runs of nearest names
	Step         *int64   `json:"step,omitempty"`    // of the end: of the first divergence
	Rank         *int64   `json:"rank,omitempty"`
	State        string   `json:"state,omitempty"` // of a step: agree, differs or unknown; of the end: same, differs or unknown
	Because      string   `json:"unknown_because,omitempty"`
	Ranks        int      `json:"ranks,omitempty"`
	Steps        int      `json:"steps,omitempty"` // of the end: how many were judged
	Paired       uint64   `json:"paired,omitempty"`
	OnlyProblem  uint64   `json:"only_problem,omitempty"`
	OnlyBench    uint64   `json:"only_bench,omitempty"`
	Unknown      uint64   `json:"unknown,omitempty"`
	Differing    uint64   `json:"differing,omitempty"` // of the end: of all steps, at least 1 after a divergence
	Incomplete   []string `json:"incomplete,omitempty"`
	LeftOut      *LeftOut `json:"left_out,omitempty"` // of the end, where there are such steps
	Op           string   `json:"op,omitempty"`
	Module       string   `json:"module,omitempty"`
	Role         string   `json:"role,omitempty"`
	Path         string   `json:"path,omitempty"`
	Verdict      string   `json:"verdict,omitempty"`
	Side         string   `json:"side,omitempty"` // of not_finite: problem, bench or both
	Evidence     string   `json:"evidence,omitempty"`
	Error        Measure  `json:"error,omitzero"`
	Tolerance    Measure  `json:"tolerance,omitzero"`
	UserFrame    string   `json:"user_frame,omitempty"`
	WithinStep   bool     `json:"within_step,omitempty"` // a divergence that was seen before the step had ended
	ElapsedNanos int64    `json:"elapsed_ns"`            // since the watch began
}

// Measure is a number that may be infinite, which JSON has no number for, or unknown.
type Measure struct {
	Known bool
	Value float64
}

// IsZero says that nothing is known.
func (m Measure) IsZero() bool { return !m.Known }

// MarshalJSON implements json.Marshaler.
func (m Measure) MarshalJSON() ([]byte, error) {
	if math.IsInf(m.Value, 0) || math.IsNaN(m.Value) {
		return json.Marshal(formatFloat(m.Value, 64))
	}
	return json.Marshal(m.Value)
}

// Write writes the event as a line: for people, or as a JSON object.
func (e *WatchEvent) Write(to io.Writer, format Format) error {
	line := e.String()
	if format == JSON {
		object, err := json.Marshal(e)
		if err != nil {
			return fmt.Errorf("encode event %s: %w", e.Event, err)
		}
		line = string(object)
	}
	_, err := fmt.Fprintln(to, line)
	return err
}

func (e *WatchEvent) nearest() string {
	if len(e.Nearest) == 0 {
		return ""
	}
	return "; the nearest names of stored runs: " + Printable(strings.Join(e.Nearest, ", "))
}

// String is the event as a line, or a few, for people.
func (e *WatchEvent) String() string {
	switch e.Event {
	case "waiting":
		return "waiting for " + Printable(e.For) + e.nearest()
	case "going_on":
		return "going on: " + Printable(e.For) + " is there"
	case "mapped":
		return "under the map " + Printable(e.For)
	case "step":
		return fmt.Sprintf("step %d: %s, %s%s, %s%s", *e.Step, plural.Of(e.Ranks, "rank"), e.counts(), e.differing(), e.State, e.reservation())
	case "divergence":
		return e.divergence()
	case "end":
		return strings.ToUpper(e.State) + e.where() + e.leftOut() + e.reservation()
	}
	return Printable(e.Event)
}

// where says of the end how far the runs were watched. Of a divergence its step counts, and not how many were whole by then.
func (e *WatchEvent) where() string {
	if e.Step == nil {
		return " after " + plural.Of(e.Steps, "step")
	}
	return fmt.Sprintf(" at step %d, %s judged as a whole", *e.Step, plural.Of(e.Steps, "step"))
}

// leftOut says how many steps were not compared, as one run left them out for its budget or conditions.
func (e *WatchEvent) leftOut() string {
	if e.LeftOut == nil {
		return ""
	}
	return fmt.Sprintf("; for a budget or conditions, the problem left out %s of the bench, and the bench %d of the problem", plural.Of(e.LeftOut.Problem, "step"), e.LeftOut.Bench)
}

func (e *WatchEvent) counts() string {
	counts := []string{thousands(e.Paired) + " paired"}
	for _, c := range []struct {
		n    uint64
		what string
	}{{e.OnlyProblem, "only in the problem"}, {e.OnlyBench, "only in the bench"}, {e.Unknown, "unknown"}} {
		if c.n > 0 {
			counts = append(counts, thousands(c.n)+" "+c.what)
		}
	}
	return strings.Join(counts, ", ")
}

func (e *WatchEvent) differing() string {
	if e.Differing == 0 {
		return ""
	}
	return ", " + thousands(e.Differing) + " differ"
}

// reservation lists the gaps, with the first reasons, or else the reason of unknown.
func (e *WatchEvent) reservation() string {
	switch {
	case len(e.Incomplete) == 0 && e.Because == "":
		return ""
	case len(e.Incomplete) == 0:
		return ": " + e.Because
	}
	shown := e.Incomplete[:min(len(e.Incomplete), gapsShown)]
	text := "; INCOMPLETE: " + Printable(strings.Join(shown, "; "))
	if rest := len(e.Incomplete) - len(shown); rest > 0 {
		text += fmt.Sprintf("; and %d more", rest)
	}
	return text
}

func (e *WatchEvent) divergence() string {
	text := fmt.Sprintf("DIVERGED at step %d, rank %d, op %s", *e.Step, *e.Rank, Printable(e.Op))
	if e.Module != "" {
		text += "\n  in module " + Printable(e.Module)
	}
	verdict := strings.ReplaceAll(e.Verdict, "_", " ")
	if e.Verdict == "not_finite" && e.Side != "" && e.Side != "none" {
		verdict += " in " + e.Side
	}
	text += fmt.Sprintf("\n  %s %s: %s by %s", Printable(e.Role), Printable(e.Path), verdict, e.Evidence)
	if e.Error.Known {
		text += ", error " + shortNumber(e.Error.Value)
	}
	if e.Tolerance.Known {
		text += ", tolerance " + shortNumber(e.Tolerance.Value)
	}
	if e.UserFrame != "" {
		text += "\n  first called at " + oneLine(e.UserFrame)
	}
	return text
}
