// Package symptoms says what has gone wrong in a run that is over: it asks the reports that a person would ask, and
// gives their first lines and the commands that tell the rest. A further symptom is one more entry of the list.
package symptoms

import (
	"context"
	"fmt"
	"maps"
	"strconv"
	"time"

	"github.com/tensortap/tensortap/analysis/report"
)

// symptom is one way in which a run may have gone wrong.
type symptom struct {
	name       string            // for people, and for after
	report     string            // that tells of it
	parameters map[string]string // of the report, beside the run
	more       string            // the command that tells the rest; the run's name follows
	after      string            // asked only where that one was found
	lines      func(Run, report.Table) []string
}

// list are the symptoms, in the order in which they are told.
func list() []symptom {
	return []symptom{
		{name: "crash", report: "crash", more: "report crash --run ", lines: crash},
		{name: "hang", report: "hang", parameters: map[string]string{"waiting_seconds": strconv.Itoa(int(HangWaiting.Seconds())), "limit": "10"}, more: "report hang --run ", lines: hang},
		{name: "not finite", report: "failures", more: "report failures --run ", lines: kept},
		{name: "overflow", report: "overflow", parameters: map[string]string{"limit": "1000"}, more: "overflow ", lines: overflow},
		{name: "poisoned-requests", report: "poisoned_requests", more: "report poisoned-requests --run ", after: "overflow", lines: poisoned},
		{name: "replicas", report: "replicas", parameters: map[string]string{"last_step": "99", "limit": "3"}, more: "report replicas --run ", lines: replicas},
		{name: "condition", report: "unseen", parameters: map[string]string{"limit": "1000"}, more: "report unseen --run ", lines: unfulfilled},
		{name: "memory", report: "memory_growth", more: "report memory-growth --run ", lines: memory},
	}
}

// Run is a run that is over.
type Run struct {
	Name   string
	Failed bool // its program ended with another status than 0
}

// Found is a symptom that the run shows.
type Found struct {
	Name  string
	Lines []string // the first of its report; or why it is not known
	More  string   // the command of this program that tells the rest
}

// Door answers reports.
type Door interface {
	Report(ctx context.Context, name string, parameters map[string]string) (report.Table, error)
}

// patience is the time that each report may take: a program's end is no time to wait for long.
const patience = 20 * time.Second

// Look asks for each symptom.
func Look(ctx context.Context, door Door, run Run) []Found {
	var found []Found
	shown := map[string]bool{"": true}
	for _, s := range list() {
		if !shown[s.after] {
			continue
		}
		if lines := s.ask(ctx, door, run); len(lines) > 0 {
			shown[s.name] = true
			found = append(found, Found{Name: s.name, Lines: lines, More: s.more + report.Argument(run.Name)})
		}
	}
	return found
}

func (s symptom) ask(ctx context.Context, door Door, run Run) []string {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	parameters := map[string]string{"run": run.Name}
	maps.Copy(parameters, s.parameters)
	answer, err := door.Report(ctx, s.report, parameters)
	if err != nil {
		return []string{fmt.Sprintf("%s: not known: %v", s.name, err)}
	}
	return s.lines(run, answer)
}
