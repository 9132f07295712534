package sglangshapes

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strings"
)

const (
	longestLine = 8 << 20 // bytes; an op over thousands of tensors takes some hundred kilobytes
	usualLine   = 64 << 10
	mostQuoted  = 80 // bytes of a line that cannot be read
)

// line is one of a log, without its end.
type line struct {
	text    []byte
	from    int64 // where it begins in the file
	tooLong bool  // text is the first part of it
	whole   bool  // its end was written
}

// eachLine reads a part of a file. Lines are good until the next one.
func eachLine(input io.Reader, from int64, each func(line) error) error {
	reader := lineReader{from: bufio.NewReaderSize(input, usualLine)}
	for {
		l, size, err := reader.next()
		l.from = from
		from += size
		if len(bytes.TrimSpace(l.text)) > 0 {
			if err := each(l); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// lineReader takes memory for a long line where there is one.
type lineReader struct {
	from *bufio.Reader
	long []byte
}

// next is a line and its size in the file, beside an error that ends the file.
func (r *lineReader) next() (l line, size int64, err error) {
	part, err := r.from.ReadSlice('\n')
	if size = int64(len(part)); !errors.Is(err, bufio.ErrBufferFull) {
		return line{text: bytes.TrimSuffix(part, []byte("\n")), whole: err == nil}, size, err
	}
	r.long = append(r.long[:0], part...)
	for errors.Is(err, bufio.ErrBufferFull) {
		part, err = r.from.ReadSlice('\n')
		size += int64(len(part))
		if len(r.long) <= longestLine {
			r.long = append(r.long, part...)
		}
	}
	return line{text: bytes.TrimSuffix(r.long, []byte("\n")), whole: err == nil, tooLong: len(r.long) > longestLine}, size, err
}

// index finds the steps. What no line of the profiler is belongs to the step before it, or else to the first.
func (l *log) index() error {
	input, err := os.Open(l.path)
	if err != nil {
		return err
	}
	defer input.Close() //nolint:errcheck // only read
	b := builder{log: l, byNumber: map[uint32]*step{}}
	if err := eachLine(input, 0, b.add); err != nil {
		return err
	}
	size, err := input.Seek(0, io.SeekEnd)
	if err != nil || b.current == nil {
		return err
	}
	b.finish(size)
	return nil
}

// builder puts lines into steps.
type builder struct {
	log      *log
	byNumber map[uint32]*step
	current  *step
	lastCall uint64
	restarts int
}

func (b *builder) add(l line) error {
	r, err := parse(l)
	if err != nil {
		return nil //nolint:nilerr // who reads the step names it
	}
	b.log.records++
	if r.call <= b.lastCall {
		b.restarts++
	}
	b.lastCall = r.call
	if b.current == nil || (b.current.number != r.pass && !b.log.summary.Dedupe) {
		b.begin(r.pass, l.from)
	}
	return nil
}

// begin goes over to another step.
func (b *builder) begin(number uint32, at int64) {
	if b.current == nil {
		at = 0
	} else {
		b.current.ranges[len(b.current.ranges)-1].to = at
	}
	s := b.byNumber[number]
	if s == nil {
		s = &step{number: number}
		b.byNumber[number] = s
		b.log.steps = append(b.log.steps, s)
	}
	s.ranges = append(s.ranges, span{from: at, to: math.MaxInt64})
	b.current = s
}

func (b *builder) finish(size int64) {
	b.current.ranges[len(b.current.ranges)-1].to = size
	l := b.log
	l.steps[len(l.steps)-1].last = true
	if b.restarts > 0 {
		l.problems = append(l.problems, fmt.Sprintf("%s: call_id goes back %d times: several processes wrote into it, and their forward passes of one number are one step", l.path, b.restarts))
	}
	if missing := l.missing(); missing > 0 {
		l.problems = append(l.problems, fmt.Sprintf("%s: its summary counts %d ops, it has %d: %d are missing", l.path, *l.summary.Total, l.records, missing))
	}
}

// missing is how many lines the log lacks by its summary. Whether the total includes what was left out as repeated,
// the profiler's documentation does not say: either is right.
func (l *log) missing() uint64 {
	if l.summary.Total == nil || *l.summary.Total == l.records || *l.summary.Total == l.records+l.summary.Skipped {
		return 0
	}
	total := *l.summary.Total
	if total > l.records+l.summary.Skipped {
		total -= l.summary.Skipped
	}
	return max(total, l.records) - l.records
}

// quote is the beginning of a line.
func quote(text []byte) string {
	shown := strings.ToValidUTF8(string(text[:min(len(text), mostQuoted)]), "?")
	if len(text) > mostQuoted {
		shown += "…"
	}
	return fmt.Sprintf("%q", shown)
}
