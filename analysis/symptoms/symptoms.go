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
	without    string            // asked only where that one was not found
	sign       string            // column of the report of signs: with less of it than least, the report has nothing to tell
	least      float64
	lines      func(Run, report.Table) []string
}

const crashName = "crash"

// failures are the parameters of the report of failures: of all that raised, the last of each rank is told.
func failures() map[string]string { return map[string]string{"limit": "1000"} }

// list are the symptoms, in the order in which they are told.
func list() []symptom {
	return []symptom{
		{name: crashName, report: "crash", more: "report crash --run ", sign: "crash_count", least: 1, lines: crash},
		{name: "hang", report: "hang", parameters: map[string]string{"waiting_seconds": strconv.Itoa(int(HangWaiting.Seconds())), "limit": "10"}, more: "report hang --run ", sign: "collective_count", least: 1, lines: hang},
		{name: "not finite", report: "failures", parameters: failures(), more: "report failures --run ", sign: "failure_count", least: 1, lines: kept},
		{name: "overflow", report: "overflow", parameters: map[string]string{"limit": "1000"}, more: "overflow ", sign: "not_finite_count", least: 1, lines: overflow},
		{name: "poisoned-requests", report: "poisoned_requests", more: "report poisoned-requests --run ", after: "overflow", sign: "not_finite_count", least: 1, lines: poisoned},
		{name: "replicas", report: "replicas", parameters: map[string]string{"last_step": "99", "limit": "3"}, more: "report replicas --run ", sign: "rank_count", least: 2, lines: replicas},
		{name: "condition", report: "unseen", parameters: map[string]string{"limit": "1000"}, more: "report unseen --run ", sign: "unseen_count", least: 1, lines: unfulfilled},
		{name: "hidden", report: "unseen", parameters: map[string]string{"limit": "1000"}, more: "report unseen --run ", sign: "unseen_count", least: 1, lines: hidden},
		{name: "memory", report: "memory_growth", more: "report memory-growth --run ", sign: "memory_step_count", least: stepsToTrust, lines: memory},
		{name: "raised", report: "failures", parameters: failures(), more: "report failures --run ", without: crashName, sign: "failure_count", least: 1, lines: raised},
	}
}

// Run is a run that is over.
type Run struct {
	Name      string
	Failed    bool  // its program ended with another status than 0
	StoppedNs int64 // when its user asked it to end; 0 if nobody did
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

// patience is the time that each report may take: as long as what the program left is waited for, since a machine that is busy with other
// programs is no reason to keep silent about a crash. A signal ends it.
const patience = 2 * time.Minute

// Look asks for each symptom of which the run shows a sign.
func Look(ctx context.Context, door Door, run Run) ([]Found, error) {
	signs, err := answer(ctx, door, "signs", map[string]string{"run": run.Name})
	if err != nil {
		return nil, err
	}
	var found []Found
	once := &asking{door: door, answers: map[string]report.Table{}}
	shown := map[string]bool{"": true}
	for _, s := range list() {
		if !shown[s.after] || s.without != "" && shown[s.without] || !s.likely(run, signs) {
			continue
		}
		if lines := s.ask(ctx, once, run); len(lines) > 0 {
			shown[s.name] = true
			found = append(found, Found{Name: s.name, Lines: lines, More: s.more + report.Argument(run.Name)})
		}
	}
	return found, nil
}

// likely says whether the report can have something to tell. Of a program that failed, the one of crashes is always asked.
func (s symptom) likely(run Run, signs report.Table) bool {
	if s.name == crashName && run.Failed {
		return true
	}
	return len(signs.Rows) > 0 && signs.Get(0, s.sign).Number >= s.least
}

func (s symptom) ask(ctx context.Context, once *asking, run Run) []string {
	parameters := map[string]string{"run": run.Name}
	maps.Copy(parameters, s.parameters)
	table, err := once.ask(ctx, s.report, parameters)
	if err != nil {
		return []string{fmt.Sprintf("%s: not known: %v", s.name, err)}
	}
	return s.lines(run, table)
}

// asking asks no report twice.
type asking struct {
	door    Door
	answers map[string]report.Table // by report and parameters
}

func (a *asking) ask(ctx context.Context, name string, parameters map[string]string) (report.Table, error) {
	key := fmt.Sprint(name, parameters)
	if table, known := a.answers[key]; known {
		return table, nil
	}
	table, err := answer(ctx, a.door, name, parameters)
	if err == nil {
		a.answers[key] = table
	}
	return table, err
}

func answer(ctx context.Context, door Door, name string, parameters map[string]string) (report.Table, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return door.Report(ctx, name, parameters)
}
