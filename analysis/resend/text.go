package resend

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/tensortap/tensortap/analysis/report"
	"github.com/tensortap/tensortap/internal/plural"
	"github.com/tensortap/tensortap/producers/requests"
)

// Outcome is what came of all requests.
type Outcome struct {
	Config    Config
	Exchanges []Exchange
	Rows      []Row
	Skipped   int // requests of the recording that have no text
}

// WriteText writes the outcome for people: at most so many of the answers that differ, 0 for all.
func (o *Outcome) WriteText(to io.Writer, limit uint64) error {
	lines := []string{o.head()}
	for i := range o.Config.Servers {
		lines = append(lines, o.troubles(i)...)
	}
	if o.Skipped > 0 {
		lines = append(lines, fmt.Sprintf("%s of the recording %s no text and %s not sent", plural.Of(o.Skipped, "request"), plural.Verb(o.Skipped, "has", "have"), plural.Verb(o.Skipped, "was", "were")))
	}
	lines = append(lines, o.verdict())
	lines = append(lines, o.differences(limit)...)
	for _, line := range lines {
		if _, err := fmt.Fprintln(to, report.Printable(line)); err != nil {
			return err
		}
	}
	return nil
}

func (o *Outcome) head() string {
	pace := "one after the other"
	if o.Config.Recorded {
		pace = "at the recorded pace"
	}
	return fmt.Sprintf("%s to %s: temperature 0, seed %d, %s", plural.Of(len(o.Exchanges), "request"), strings.Join(o.Config.Servers, " and "), o.Config.Seed, pace)
}

// troubles are a line for each way in which a server gave no answer, with the first request of that kind.
func (o *Outcome) troubles(server int) (lines []string) {
	for _, state := range []State{Refused, TimedOut, Broken, Down, Unsent} {
		count, first := 0, (*Exchange)(nil)
		for i := range o.Exchanges {
			if o.Exchanges[i].Replies[server].State == state {
				if count++; first == nil {
					first = &o.Exchanges[i]
				}
			}
		}
		if count > 0 {
			lines = append(lines, o.trouble(server, state, count, first))
		}
	}
	return lines
}

func (o *Outcome) trouble(server int, state State, count int, first *Exchange) string {
	address, said := o.Config.Servers[server], first.Replies[server].Said
	switch state {
	case Down:
		return fmt.Sprintf("%s cannot be reached: %s; it was to be sent request %s", address, said, first.Request.ID)
	case Unsent:
		return fmt.Sprintf("%s: %s %s not sent, the first is %s", address, plural.Of(count, "request"), plural.Verb(count, "was", "were"), first.Request.ID)
	case Broken:
		return fmt.Sprintf("%s: %s broke off, the first is that of %s: %s", address, plural.Of(count, "answer"), first.Request.ID, said)
	case TimedOut:
		return fmt.Sprintf("%s: %s timed out, the first is %s: %s", address, plural.Of(count, "request"), first.Request.ID, said)
	case Refused, Answered:
	}
	return fmt.Sprintf("%s: %s %s refused, the first is %s: %s", address, plural.Of(count, "request"), plural.Verb(count, "was", "were"), first.Request.ID, said)
}

func (o *Outcome) verdict() string {
	same, differ, unknown := Count(o.Rows, Same), Count(o.Rows, Differs), Count(o.Rows, Unknown)
	counts := fmt.Sprintf("%s %s, %d %s the same, of %d nothing can be said", plural.Of(differ, "answer"), plural.Verb(differ, "differs", "differ"),
		same, plural.Verb(same, "is", "are"), unknown)
	switch Whole(o.Rows) {
	case Differs:
		return "DIFFERS: " + counts
	case Same:
		return "SAME: " + counts + o.closeness()
	case Unknown:
	}
	return "UNKNOWN: " + counts + o.why()
}

// closeness says how far log probabilities are apart where tokens are the same.
func (o *Outcome) closeness() string {
	largest, known := 0.0, false
	for i := range o.Rows {
		if d := o.Rows[i].LogprobDifference; d != nil && !math.IsNaN(*d) {
			largest, known = max(largest, *d), true
		}
	}
	if !known {
		return ""
	}
	return fmt.Sprintf("; log probabilities differ by %s at most", digits(largest))
}

// why is the first reason of those that are unknown.
func (o *Outcome) why() string { return " (" + o.FirstUnknown() + ")" }

func (o *Outcome) differences(limit uint64) (lines []string) {
	count := uint64(0)
	for i := range o.Rows {
		if o.Rows[i].Verdict != Differs {
			continue
		}
		if count++; limit > 0 && count > limit {
			continue
		}
		lines = append(lines, o.Rows[i].sentence())
		for side := range o.Rows[i].Sides {
			lines = append(lines, o.Rows[i].Sides[side].sentence())
		}
	}
	if limit > 0 && count > limit {
		lines = append(lines, fmt.Sprintf("%d more answers differ: --limit 0 shows all", count-limit))
	}
	return lines
}

func (r *Row) sentence() string {
	name := "request " + r.Request
	if r.Part > 0 {
		name += fmt.Sprintf(", part %d", r.Part)
	}
	switch {
	case r.Why != "":
		return name + ": " + r.Why
	case r.Token != nil:
		return fmt.Sprintf("%s: token %d is the first that differs", name, *r.Token)
	}
	return fmt.Sprintf("%s: character %d is the first that differs", name, *r.Character)
}

func (s *Side) sentence() string {
	line := "  " + s.name() + ": "
	if line += strconv.Quote(s.Token); s.Token == "" && s.Logprob == nil {
		line = "  " + s.name() + ": the end of the answer"
	}
	if s.Logprob != nil {
		line += ", log probability " + digits(*s.Logprob)
	}
	if s.Step != nil {
		line += fmt.Sprintf(", made by step %d of rank %d of run %s", s.Step.Step, s.Step.Rank, s.Step.Run)
	}
	if s.Request != "" && s.Server != "" {
		line += " (" + s.Request + ")"
	}
	return line
}

func (s *Side) name() string {
	if s.Server == "" {
		return "recorded"
	}
	return s.Server
}

func digits(v float64) string { return strconv.FormatFloat(v, 'g', 4, 64) }

// Runs are the runs whose steps made the first answer that differs, where both are known.
func (o *Outcome) Runs() (problem, bench string, known bool) {
	for i := range o.Rows {
		if a, b := o.Rows[i].Sides[0].Step, o.Rows[i].Sides[1].Step; a != nil && b != nil && a.Run != b.Run {
			return a.Run, b.Run, true
		}
	}
	return "", "", false
}

// Place is a token whose step is looked for.
type Place struct {
	Request      string
	Index        int64  // of the token in the answer, from 0
	PromptTokens *int64 // as the server tells; nil when it does not
}

// Locate notes the step of each token that differs. Find gives nil where no collector saw it.
func (o *Outcome) Locate(find func(Place) (*Step, error)) error {
	for i := range o.Rows {
		r := &o.Rows[i]
		if r.Verdict != Differs || r.Token == nil {
			continue
		}
		for s := range r.Sides {
			side := &r.Sides[s]
			if side.Server == "" || side.Request == "" {
				continue
			}
			var err error
			if side.Step, err = find(Place{Request: side.Request, Index: *r.Token, PromptTokens: side.promptTokens}); err != nil {
				return err
			}
		}
	}
	return nil
}

// FirstUnknown is the first answer of which nothing can be said, and why.
func (o *Outcome) FirstUnknown() string {
	for i := range o.Rows {
		if o.Rows[i].Verdict == Unknown {
			return o.Rows[i].Request + ": " + o.Rows[i].Why
		}
	}
	return "none"
}

// Ready are the requests that can be sent.
func Ready(all []requests.Recorded) []requests.Recorded {
	var ready []requests.Recorded
	for i := range all {
		if all[i].Body != nil && all[i].Route != "" {
			ready = append(ready, all[i])
		}
	}
	return ready
}
