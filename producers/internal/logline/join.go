package logline

import (
	"slices"
	"strings"
)

// Line is a record and where it begins.
type Line struct {
	*Record
	At      int64
	Carried bool // its time is that of the line before
}

// Joiner makes records of lines: those of a traceback are one. Times go on to lines that have none. It is not safe for use
// by several goroutines.
type Joiner struct {
	Parser Parser
	// Wants says whether lines from there are asked for; nil for all. Of others no more than the head is read.
	Wants  func(Where) bool
	record Record
	ns     int64
	clock  Clock
	open   []*trace // the last that was touched is the last
	spied  int64    // process of the line before, if that may be the first of py-spy's
}

const (
	mostOpen    = 64 // tracebacks at a time
	mostTrace   = 60 << 10
	begunSuffix = "raceback (most recent call last):"
)

// trace is a traceback whose end has not been read.
type trace struct {
	line   Line
	record Record
	text   strings.Builder
	pid    int64 // of who writes
	dumped bool  // by faulthandler: it has no exception at its end
	spied  bool  // by py-spy, from outside: nor has that
	headed bool  // each of its lines has a head
	ended  bool  // its exception was read; another one may follow
	left   bool  // some of it is left out
	titled bool  // something stands before it in its line
}

// Add reads the line that begins at that place, and gives the records that are complete. A record is good until each returns,
// and the text need be no longer.
func (j *Joiner) Add(text string, at int64, each func(Line) error) error {
	r := &j.record
	j.Parser.Head(text, r)
	wanted := j.Wants == nil || j.Wants(r.Where)
	if wanted {
		j.Parser.finish(r)
	}
	line := Line{Record: r, At: at}
	headless := r.Clock == NoClock && r.PID == Unknown && r.Level == "" && r.Where == Nowhere()
	if r.Clock != NoClock {
		j.ns, j.clock = r.TimeNs, r.Clock
	} else {
		r.TimeNs, r.Clock, line.Carried = j.ns, j.clock, true
	}
	if t := j.of(r, headless); t != nil {
		if t.takes(r.Message) {
			t.headed = t.headed || !headless
			return nil
		}
		if err := j.close(t, each); err != nil {
			return err
		}
	}
	before := j.spied
	j.spied = spiedPID(r.Message)
	switch {
	case begins(r.Message):
	case wanted:
		return each(line)
	default:
		return nil
	}
	return j.begin(line, max(before, j.spied), each)
}

// of is the traceback that the line may go on with.
func (j *Joiner) of(r *Record, headless bool) *trace { //nolint:revive // flag-parameter: a fact about the line
	for _, t := range slices.Backward(j.open) {
		if headless && !t.headed || !headless && (t.record.Where == r.Where && t.pid == r.PID) {
			return t
		}
	}
	return nil
}

func begins(m string) bool {
	if strings.HasSuffix(m, begunSuffix) {
		return true
	}
	return isDump(m) || isSpied(m)
}

// begin opens a traceback. Of what py-spy says the process is that which it looked at, not that which wrote the line.
func (j *Joiner) begin(line Line, spied int64, each func(Line) error) error {
	if len(j.open) >= mostOpen {
		if err := j.close(j.open[0], each); err != nil {
			return err
		}
	}
	t := &trace{line: line, record: line.clone(), pid: line.PID, dumped: isDump(line.Message), spied: isSpied(line.Message)}
	t.record.sound, t.line.Record = false, &t.record // more lines are to come
	if t.spied && spied > 0 {
		t.record.PID = spied
	}
	t.titled = t.dumped || t.spied || len(strings.TrimLeft(line.Message, " +|")) > len("T"+begunSuffix)
	t.add(line.Message)
	j.open = append(j.open, t)
	return nil
}

func (t *trace) add(m string) {
	if t.text.Len() > mostTrace && !isException(m) {
		t.left = true
		return
	}
	if t.left {
		t.text.WriteString("\n(lines are left out)")
		t.left = false
	}
	if t.text.Len() > 0 {
		t.text.WriteByte('\n')
	}
	t.text.WriteString(m[:min(len(m), mostTrace)])
}

// takes says whether the line is of the traceback.
func (t *trace) takes(m string) bool {
	switch {
	case t.spied:
		if !takesSpied(m) {
			return false
		}
	case strings.HasPrefix(m, "During handling of the above exception"), strings.HasPrefix(m, "The above exception was the direct cause"), t.goesOnWith(m):
		t.ended = false
	case t.ended:
		return false
	case m == "" || m[0] == ' ' || m[0] == '\t':
	case t.dumped && strings.HasPrefix(m, modulesPrefix):
	case !t.dumped && isException(m):
		t.ended = true
		if !t.titled {
			t.record.Text = strings.Clone(m)
		}
	default:
		return false
	}
	t.add(m)
	return true
}

// goesOnWith says whether a line that may begin a traceback is within this one.
func (t *trace) goesOnWith(m string) bool {
	if t.dumped || strings.HasPrefix(m, fatalPrefix) {
		return t.dumped && begins(m)
	}
	return !t.ended && begins(m)
}

// isException is a class, with or without a message: "torch.OutOfMemoryError: CUDA out of memory".
func isException(m string) bool {
	name, _, _ := strings.Cut(m, ":")
	if name == "" || !isLetter(name[0]) {
		return false
	}
	return !strings.ContainsFunc(name, func(c rune) bool {
		return c != '_' && c != '.' && (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') && c < 0x80
	})
}

func isLetter(c byte) bool { return c == '_' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' }

func (j *Joiner) close(t *trace, each func(Line) error) error {
	j.open = slices.DeleteFunc(j.open, func(o *trace) bool { return o == t })
	t.record.Kind, t.record.Exception = Traceback, t.text.String()
	switch {
	case t.spied:
		t.record.Kind = PySpy
	case t.record.Level == "":
		t.record.Level = "error"
	}
	return each(t.line)
}

// Flush gives the tracebacks whose end was not read.
func (j *Joiner) Flush(each func(Line) error) error {
	for len(j.open) > 0 {
		if err := j.close(j.open[0], each); err != nil {
			return err
		}
	}
	return nil
}

// Open says whether a traceback has begun whose end may follow.
func (j *Joiner) Open() bool { return len(j.open) > 0 }
