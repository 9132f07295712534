package sglangshapes

import (
	"fmt"
	"io"
	"math"
	"os"

	"github.com/tensortap/tensortap/producers/internal/lines"
)

// index finds the steps. What no line of the profiler is belongs to the step before it, or else to the first.
func (l *log) index() error {
	input, err := os.Open(l.path)
	if err != nil {
		return err
	}
	defer input.Close() //nolint:errcheck // only read
	l.deduped = l.summary.Dedupe
	b := builder{log: l, byNumber: map[uint32]*step{}, distinct: distinct{known: map[uint64]bool{}}}
	if err := lines.Each(input, 0, b.add); err != nil {
		return err
	}
	size, err := input.Seek(0, io.SeekEnd)
	if err != nil || b.current == nil {
		return err
	}
	if l.summary.Total == nil && b.distinct.leavesOut() {
		l.deduped = true
		b.join()
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
	distinct distinct
}

func (b *builder) add(l lines.Line) error {
	r, err := parse(l)
	if err != nil {
		return nil //nolint:nilerr // who reads the step names it
	}
	b.log.records++
	if r.call <= b.lastCall {
		b.restarts++
	}
	b.distinct.add(&r, r.call > b.lastCall+1)
	b.lastCall = r.call
	if b.current == nil || (b.current.number != r.pass && !b.log.deduped) {
		b.begin(r.pass, l.From)
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
