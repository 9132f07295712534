package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/tensortap/tensortap/internal/system"
)

// repetitions knows the lines that a process printed of records of its logging, which are shown as such. A line is one
// if it ends with the record's text, and was read within seconds after the record was made: lines come in the order of time.
type repetitions struct{ records map[string][]*logged }

// logged is a record that a line may repeat.
type logged struct {
	at   int64
	text string
}

const (
	printedWithin = 5 * time.Second
	mostLogged    = 10_000 // records of a process within that time
)

// repeats says whether a line is one, and takes note of records.
func (r *repetitions) repeats(l *system.SpokenLine) bool {
	if l.PID == nil {
		return false
	}
	process := fmt.Sprint(l.Host, " ", *l.PID)
	switch l.Stream {
	case "logging":
		r.note(process, l)
	case "out", "err":
		return r.takes(process, l)
	}
	return false
}

func (r *repetitions) note(process string, l *system.SpokenLine) {
	if r.records == nil {
		r.records = map[string][]*logged{}
	}
	lines := strings.Split(l.Text, "\n")
	if l.Exception != "" {
		lines = append(lines, l.Exception)
	}
	for _, text := range lines {
		r.records[process] = append(r.records[process], &logged{l.TimeNs, text})
	}
	if over := len(r.records[process]) - mostLogged; over > 0 {
		r.records[process] = r.records[process][over:]
	}
}

// takes finds the first record that the line repeats; each is printed once by each of a logger's handlers, mostly one.
func (r *repetitions) takes(process string, l *system.SpokenLine) bool {
	records := r.records[process]
	for len(records) > 0 && l.TimeNs-records[0].at > int64(printedWithin) {
		records = records[1:]
	}
	if len(records) == 0 {
		delete(r.records, process)
		return false
	}
	r.records[process] = records
	for i, of := range records {
		whole := l.Exception != "" && l.Exception == of.text
		if whole || l.Exception == "" && of.text != "" && strings.HasSuffix(l.Text, of.text) {
			r.records[process] = append(records[:i:i], records[i+1:]...)
			return true
		}
	}
	return false
}
