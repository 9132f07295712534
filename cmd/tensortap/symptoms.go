package main

import (
	"context"
	"fmt"

	"github.com/tensortap/tensortap/analysis/symptoms"
	"github.com/tensortap/tensortap/internal/system"
)

// tellSymptoms says what has gone wrong in a run that is over, where a database is at hand, and which command tells the rest.
func (a *app) tellSymptoms(ctx context.Context, client *system.Client, run symptoms.Run) {
	if client.Endpoint.Reader == "" {
		return
	}
	found, err := symptomsOf(ctx, client, run)
	if err != nil {
		a.tellLaunch("what went wrong in the run is not known: " + printable(err))
	}
	for _, f := range found {
		a.tellMore(f.Lines, f.More)
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

// symptomsOf are the symptoms of a run.
func symptomsOf(ctx context.Context, client *system.Client, run symptoms.Run) ([]symptoms.Found, error) {
	if err := client.WaitCurrent(ctx); err != nil {
		return nil, err
	}
	reader, err := system.OpenReader(ctx, client.Endpoint)
	if err != nil {
		return nil, err
	}
	defer reader.Close() //nolint:errcheck // only read
	return symptoms.Look(ctx, reader, run)
}
