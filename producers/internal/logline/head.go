package logline

import (
	"strconv"
	"strings"
)

const mostParts = 5 // of a head: Ray's, torchrun's, the program's own

// head takes the parts of a head one by one, and returns what is behind them.
func (p *Parser) head(s string, r *Record) string {
	for i := range mostParts {
		rest, found := p.part(strings.TrimLeft(s, " "), r)
		if !found && i == 0 {
			return s // its indent says what it is
		}
		if !found {
			break
		}
		s = rest
	}
	return strings.TrimPrefix(s, " ")
}

func (p *Parser) part(s string, r *Record) (rest string, found bool) {
	if len(s) < 4 {
		return s, false
	}
	switch c := s[0]; {
	case c == '(':
		return actor(s, r)
	case c == '[':
		return p.bracket(s, r)
	case isDigit(c) && r.Clock == NoClock:
		return p.python(s, r)
	case c >= 'A' && c <= 'Z' && r.Level == "":
		return p.levelled(s, r)
	}
	return nccl(s, r)
}

// actor is "(EngineCore_DP0 pid=12) " of vLLM, or "(Actor pid=12, ip=10.0.0.7) " of Ray.
func actor(s string, r *Record) (string, bool) {
	inside, rest, closed := strings.Cut(s[1:], ")")
	name, facts, spaced := strings.Cut(inside, " ")
	if !closed || !spaced || !strings.Contains(facts, "pid=") {
		return s, false
	}
	for fact := range strings.FieldsFuncSeq(facts, func(c rune) bool { return c == ' ' || c == ',' }) {
		key, value, _ := strings.Cut(fact, "=")
		switch n, err := strconv.ParseInt(value, 10, 32); {
		case key == "ip":
			r.Host = value
		case err != nil:
		case key == "pid":
			r.PID = n
		case key == "rank":
			r.Where.Rank = int32(n)
		}
	}
	for _, tag := range strings.Split(name, "_")[1:] {
		r.Where.tag(tag)
	}
	r.Role = roleOf(name)
	return rest, true
}

func roleOf(actor string) string {
	switch name, _, _ := strings.Cut(actor, "_"); name {
	case "EngineCore":
		return "scheduler"
	case "Worker", "VllmWorker", "VllmWorkerProcess", "RayWorkerWrapper", "RayWorkerProc":
		return "worker"
	case "APIServer", "ApiServer":
		return "api server"
	default:
		return name
	}
}

// tag is "TP6".
func (w *Where) tag(tag string) bool {
	at := strings.IndexFunc(tag, func(c rune) bool { return c >= '0' && c <= '9' })
	if at < 2 {
		return false
	}
	n, err := strconv.ParseInt(tag[at:], 10, 32)
	if err != nil {
		return false
	}
	switch tag[:at] {
	case "TP":
		w.TP = int32(n)
	case "PP":
		w.PP = int32(n)
	case "DP":
		w.DP = int32(n)
	case "EP":
		w.EP = int32(n)
	case "CP":
		w.CP = int32(n)
	default:
		return strings.HasPrefix(tag, "ATTN")
	}
	return true
}

// bracket is one of "[rank0]:", "[default0]:", "[2026-01-02 03:04:05 TP0]", "[W1121 10:02:45.353 12 x.cpp:1]",
// "[INFO|trainer.py:12]".
func (p *Parser) bracket(s string, r *Record) (string, bool) {
	end := strings.IndexByte(s, ']')
	if end < 0 {
		return s, false
	}
	inside, rest := s[1:end], s[end+1:]
	switch {
	case number(inside, "rank", &r.Where.Rank), number(inside, "default", &r.Where.GPU):
		return strings.TrimPrefix(rest, ":"), true
	case r.Clock == NoClock && len(inside) >= 19 && isDigit(inside[0]):
		return p.sglang(s, inside, rest, r)
	}
	if rest, found := p.glog(s[1:], r); found {
		return rest, true
	}
	level, at, cut := strings.Cut(inside, "|")
	if known := levelOf(level); known != "" && r.Level == "" {
		r.Level = known
		if cut {
			r.Logger = at
		}
		return rest, true
	}
	return s, false
}

// number is a name that a number follows, as rank3.
func number(text, name string, into *int32) bool {
	digits, named := strings.CutPrefix(text, name)
	if !named { // errors cost memory
		return false
	}
	n, err := strconv.ParseInt(digits, 10, 32)
	if err != nil || n < 0 {
		return false
	}
	*into = int32(n)
	return true
}

// sglang is a time and tags of ranks. It is no head if there is anything else.
func (p *Parser) sglang(s, inside, rest string, r *Record) (string, bool) {
	ns, clock, size := p.stamp(inside)
	if size == 0 {
		return s, false
	}
	where := r.Where
	for tag := range strings.FieldsSeq(inside[size:]) {
		if !where.tag(tag) {
			return s, false
		}
	}
	r.TimeNs, r.Clock, r.Where = ns, clock, where
	return rest, true
}

// python is a time at the beginning, then any of a logger and a level.
func (p *Parser) python(s string, r *Record) (string, bool) {
	ns, clock, size := p.stamp(s)
	if size == 0 {
		return s, false
	}
	r.TimeNs, r.Clock = ns, clock
	return r.afterTime(s[size:]), true
}

// afterTime reads "- name - LEVEL - ", "LEVEL name: ", "[LEVEL] ", "| LEVEL | name - ".
func (r *Record) afterTime(s string) string {
	rest := strings.TrimLeft(s, " -|>")
	word, behind := firstWord(rest)
	if level := levelOf(word); level != "" {
		r.Level = level
		return r.loggerThen(behind)
	}
	next, after := firstWord(strings.TrimLeft(behind, " -|"))
	if level := levelOf(next); level != "" && len(word) > 0 {
		r.Logger, r.Level = word, level
		return strings.TrimLeft(after, " -|:")
	}
	return strings.TrimPrefix(rest, ">> ")
}

// loggerThen reads a name with " - " or ": " behind it.
func (r *Record) loggerThen(s string) string {
	s = strings.TrimLeft(s, " -|:")
	word, behind := firstWord(s)
	if word == "" || strings.HasPrefix(s, "[") && !strings.Contains(word, ":") {
		return s
	}
	for _, end := range []string{" - ", ": ", "| "} {
		if rest, found := strings.CutPrefix(behind, end); found {
			r.Logger = word
			return rest
		}
	}
	return s
}

// firstWord is a word, without the brackets around it, and what is behind.
func firstWord(s string) (word, rest string) {
	if inside, open := strings.CutPrefix(s, "["); open {
		if word, rest, closed := strings.Cut(inside, "]"); closed {
			return strings.TrimSpace(word), rest
		}
	}
	end := strings.IndexAny(s, " |[]")
	if end < 0 {
		end = len(s)
	}
	word = s[:end]
	if trimmed, found := strings.CutSuffix(word, ":"); found {
		return trimmed, s[end-1:]
	}
	return word, s[end:]
}
