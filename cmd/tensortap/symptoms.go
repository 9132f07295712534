package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/tensortap/tensortap/analysis/report"
	"github.com/tensortap/tensortap/analysis/symptoms"
	"github.com/tensortap/tensortap/internal/system"
)

// tellSymptoms says what has gone wrong in a run that is over, where a database is at hand, and which command tells the rest.
func (a *app) tellSymptoms(ctx context.Context, client *system.Client, run symptoms.Run) {
	if client.Endpoint.Reader == "" {
		return
	}
	found, raised, err := symptomsOf(ctx, client, run)
	if err != nil {
		a.tellLaunch("what went wrong in the run is not known: " + printable(err))
	}
	for _, f := range found {
		a.tellMore(f.Lines, f.More)
	}
	if len(found) == 0 || found[0].Name != "crash" {
		a.tellMore(raised, "report failures --run "+report.Argument(run.Name))
	}
}

func (a *app) tellMore(lines []string, command string) {
	for _, line := range lines {
		a.tellLaunch(line)
	}
	if len(lines) > 0 {
		a.tellLaunch(fmt.Sprintf("more of that: %s %s", a.program(), command))
	}
}

// symptomsOf are the symptoms of a run, and the ranks that raised.
func symptomsOf(ctx context.Context, client *system.Client, run symptoms.Run) (found []symptoms.Found, raised []string, err error) {
	if err := client.WaitCurrent(ctx); err != nil {
		return nil, nil, err
	}
	reader, err := system.OpenReader(ctx, client.Endpoint)
	if err != nil {
		return nil, nil, err
	}
	defer reader.Close() //nolint:errcheck // only read
	failures, err := reader.Failures(ctx, run.Name)
	for _, line := range report.FailureLines(failures) {
		raised = append(raised, "raised: "+line)
	}
	found, lookErr := symptoms.Look(ctx, reader, run)
	return found, raised, errors.Join(err, lookErr)
}
