package resend

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"
)

// Verdict is whether the answers to a request are the same.
type Verdict string

// The verdicts.
const (
	Same    Verdict = "same"
	Differs Verdict = "differs"
	Unknown Verdict = "unknown"
)

// Side is one of two answers, at the place where they first differ.
type Side struct {
	Server  string // its address; empty for the answer that was recorded
	Request string // the engine's name of the request there
	Token   string
	Logprob *float64 // nil when not known
	Step    *Step    // that made the token; nil when not known

	promptTokens *int64
}

// Step is where a token was made.
type Step struct {
	Run        string
	Rank, Step int64
}

// Row is the verdict on one answer.
type Row struct {
	Request   string // the name that the recording has
	Route     string
	Part      int // of the prompts that were asked at once
	Verdict   Verdict
	Why       string // when unknown
	Token     *int64 // place of the first token that differs, from 0; nil when not known
	Character *int64 // place of the first character that differs, from 0; nil where only tokens do, or nothing
	Sides     [2]Side
	// LogprobDifference is the largest of the tokens that both have before they differ; nil when not known.
	LogprobDifference *float64
}

// Rows are the verdicts on all answers, in the order of the requests.
func Rows(cfg *Config, all []Exchange) []Row {
	var rows []Row
	for i := range all {
		rows = append(rows, rowsOf(cfg, &all[i])...)
	}
	return rows
}

func rowsOf(cfg *Config, e *Exchange) []Row {
	unknown := Row{Request: e.Request.ID, Route: e.Request.Route, Verdict: Unknown}
	for i := range e.Replies {
		if r := &e.Replies[i]; r.State != Answered {
			unknown.Why = fmt.Sprintf("%s: %s", cfg.Servers[i], strings.TrimSuffix(r.state()+": "+r.Said, ": "))
			return []Row{unknown}
		}
	}
	other, why := e.other()
	if why != "" {
		unknown.Why = why
		return []Row{unknown}
	}
	first := e.Replies[0].Generations
	if len(first) != len(other) {
		unknown.Verdict, unknown.Why = Differs, fmt.Sprintf("%d answers and %d", len(first), len(other))
		return []Row{unknown}
	}
	rows := make([]Row, len(first))
	for i := range first {
		rows[i] = judge(&first[i], &other[i])
		rows[i].Request, rows[i].Route, rows[i].Part = e.Request.ID, e.Request.Route, i
		rows[i].Sides[0].Server = cfg.Servers[0]
		if len(cfg.Servers) > 1 {
			rows[i].Sides[1].Server = cfg.Servers[1]
		}
	}
	return rows
}

func (r *Reply) state() string {
	if r.State == Unsent {
		return "not sent"
	}
	return string(r.State)
}

// other is what the first server's answers are held against: those of the second, else those that were recorded.
func (e *Exchange) other() (all []Generation, why string) {
	switch {
	case len(e.Replies) > 1:
		return e.Replies[1].Generations, ""
	case e.Request.Answers == nil:
		return nil, "the recording has no answer"
	case !isGreedy(e.Request.Body):
		return nil, "the recorded answer was left to chance: its request has no temperature of 0"
	}
	for _, text := range e.Request.Answers {
		all = append(all, Generation{Request: e.Request.ID, Text: text})
	}
	return all, ""
}

// judge compares two answers to the same prompt.
func judge(a, b *Generation) Row {
	row := Row{Verdict: Same, Sides: [2]Side{sideOf(a), sideOf(b)}}
	row.LogprobDifference = logprobDifference(a.Tokens, b.Tokens)
	place := firstOther(a.Tokens, b.Tokens)
	at := firstCharacter(a.Text, b.Text)
	if at < 0 && (place < 0 || len(a.Tokens) == 0 || len(b.Tokens) == 0) {
		return row
	}
	row.Verdict = Differs
	if at >= 0 {
		characters := int64(utf8.RuneCountInString(a.Text[:at]))
		row.Character = &characters
	}
	if len(a.Tokens) == 0 || len(b.Tokens) == 0 { // one side has a text alone
		place = max(tokenAt(a.Tokens, at), tokenAt(b.Tokens, at))
	}
	if place >= 0 {
		token := int64(place)
		row.Token = &token
	}
	row.Sides[0].show(a, place, at)
	row.Sides[1].show(b, place, at)
	return row
}

func sideOf(g *Generation) Side { return Side{Request: g.Request, promptTokens: g.PromptTokens} }

// mostShown is how much of a text is shown where tokens are not known.
const mostShown = 24

// show notes the token at a place, else the text from that byte on.
func (s *Side) show(g *Generation, place, at int) {
	if place >= 0 && place < len(g.Tokens) {
		t := g.Tokens[place]
		s.Token, s.Logprob = t.Text, &t.Logprob
		if t.Text == "" && t.ID != nil {
			s.Token = fmt.Sprintf("#%d", *t.ID)
		}
		return
	}
	if len(g.Tokens) == 0 && at >= 0 {
		rest := []rune(g.Text[min(at, len(g.Text)):])
		s.Token = string(rest[:min(len(rest), mostShown)])
	}
}

// firstOther is the place of the first token that differs, or that one side alone has; -1 where none does.
func firstOther(a, b []Token) int {
	for i := range min(len(a), len(b)) {
		if !a[i].same(b[i]) {
			return i
		}
	}
	if len(a) != len(b) {
		return min(len(a), len(b))
	}
	return -1
}

// firstCharacter is the byte at which the first character begins that differs; -1 where none does.
func firstCharacter(a, b string) int {
	if a == b {
		return -1
	}
	at := 0
	for at < len(a) && at < len(b) && a[at] == b[at] {
		at++
	}
	for at > 0 && (at < len(a) && !utf8.RuneStart(a[at]) || at < len(b) && !utf8.RuneStart(b[at])) {
		at--
	}
	return at
}

// tokenAt is the place of the token that has that byte of the text; -1 where there are no tokens.
func tokenAt(tokens []Token, at int) int {
	end := 0
	for i, t := range tokens {
		if end += len(t.Text); end > at {
			return i
		}
	}
	return len(tokens) - 1
}

// logprobDifference is the largest, of the tokens before the first that differs and of that one's place.
func logprobDifference(a, b []Token) *float64 {
	if len(a) == 0 || len(b) == 0 {
		return nil
	}
	largest := 0.0
	for i := range min(len(a), len(b)) {
		if !a[i].same(b[i]) {
			break
		}
		d := math.Abs(a[i].Logprob - b[i].Logprob)
		if math.IsNaN(d) {
			return &d
		}
		largest = max(largest, d)
	}
	return &largest
}

func number(value *float64) float64 {
	if value == nil {
		return math.NaN()
	}
	return *value
}

// Count is how many of the rows have that verdict.
func Count(rows []Row, verdict Verdict) int {
	count := 0
	for i := range rows {
		if rows[i].Verdict == verdict {
			count++
		}
	}
	return count
}

// Whole is the verdict on all: one that differs decides, and one that is unknown leaves the rest unknown.
func Whole(rows []Row) Verdict {
	has := func(v Verdict) bool { return slices.ContainsFunc(rows, func(r Row) bool { return r.Verdict == v }) }
	switch {
	case has(Differs):
		return Differs
	case has(Unknown) || len(rows) == 0:
		return Unknown
	}
	return Same
}
