// Package logline reads lines of logs of SGLang, vLLM, torchrun, NCCL, Ray, Megatron, Hugging Face and plain Python
// logging: first the head, with time, level and place, then the kind of the line, then its pairs. Any line is one: what is
// not understood is text.
package logline

import (
	"strings"
	"time"
	"unicode/utf8"
)

// Unknown is a number that a line does not give.
const Unknown = -1

// Where are coordinates among the processes of a program, Unknown where a line does not give them.
type Where struct{ Rank, TP, PP, DP, EP, CP, GPU int32 } //nolint:recvcheck // small, and a key of maps

// Nowhere is of a line without coordinates.
func Nowhere() Where { return Where{Unknown, Unknown, Unknown, Unknown, Unknown, Unknown, Unknown} }

// Clock is how a line gives its time.
type Clock uint8

// The ways.
const (
	NoClock    Clock = iota // it gives none
	LocalClock              // without a zone
	ZonedClock              // with one
)

// Pair is a name and a value in a line of a known kind.
type Pair struct {
	Key, Value string
	Number     bool
	Float      float64 // of a number
	Digits     int16   // decimals of a number that is not whole; Unknown for a whole one
}

// Record is what is known of a line. Its texts are parts of the line.
type Record struct {
	Text      string // the line
	Message   string // without its head
	Where     Where
	TimeNs    int64
	Clock     Clock
	PID       int64 // or Unknown
	Host      string
	Role      string
	Level     string
	Logger    string
	Kind      string
	Request   string
	Step      int64 // as the program counts, or Unknown
	Pairs     []Pair
	Exception string // a traceback, from its first line to its last

	sound bool // its texts are UTF-8
}

// clone stays good after its line, without the pairs.
func (r *Record) clone() Record {
	c := *r
	c.Pairs = nil
	for _, text := range []*string{&c.Text, &c.Message, &c.Host, &c.Role, &c.Logger, &c.Kind, &c.Request, &c.Exception} {
		*text = strings.Clone(*text)
	}
	return c
}

// Parser reads lines. It is not safe for use by several goroutines.
type Parser struct {
	Zone   *time.Location // of times without one
	Newest time.Time      // a date without a year is the last one before that
	hours  map[int64]int64
	last   struct{ key, ns int64 }
}

const escape = '\x1b'

// Parse reads a line. The record's list of pairs is used again.
func (p *Parser) Parse(line string, r *Record) {
	p.Head(line, r)
	p.finish(r)
}

func (p *Parser) finish(r *Record) {
	r.sound = utf8.ValidString(r.Text)
	r.findKind()
	if r.Kind == MegatronRerun {
		if ns, clock, size := p.stamp(strings.TrimPrefix(r.Message, "ts=")); size > 0 {
			r.TimeNs, r.Clock = ns, clock
		}
	}
}

// Head reads only as far as the message.
func (p *Parser) Head(line string, r *Record) {
	if line = trimmed(line); strings.IndexByte(line, '\r') >= 0 {
		line = line[strings.LastIndexByte(line, '\r')+1:] // a bar of progress is what it was at last
	}
	if strings.IndexByte(line, escape) >= 0 {
		line = withoutColours(line)
	}
	*r = Record{Text: line, Where: Nowhere(), PID: Unknown, Step: Unknown, Pairs: r.Pairs[:0]}
	r.Message = p.head(line, r)
	if strings.HasPrefix(r.Message, "ts=") { // the rank is in what others have as the message
		r.megatron(r.Message)
	}
	if strings.HasPrefix(r.Message, "{") {
		r.placeOfPass()
	}
}

func trimmed(line string) string {
	for line != "" && (line[len(line)-1] == ' ' || line[len(line)-1] == '\r') {
		line = line[:len(line)-1]
	}
	for line != "" && line[0] == 0 {
		line = line[1:]
	}
	return line
}

// withoutColours leaves out what terminals are told: ESC [ … letter.
func withoutColours(line string) string {
	var b strings.Builder
	for {
		at := strings.IndexByte(line, escape)
		if at < 0 {
			b.WriteString(line)
			return b.String()
		}
		b.WriteString(line[:at])
		line = line[at+1:]
		if !strings.HasPrefix(line, "[") {
			continue
		}
		end := strings.IndexFunc(line[1:], func(c rune) bool { return c >= '@' && c <= '~' })
		if end < 0 {
			return b.String()
		}
		line = line[end+2:]
	}
}
