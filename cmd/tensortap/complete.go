package main

import (
	"bytes"
	"context"
	"encoding/csv"
	"time"

	"github.com/spf13/cobra"

	"github.com/tensortap/tensortap/internal/report"
)

// completionPatience is how long a shell waits for names: longer is a nuisance.
const completionPatience = 500 * time.Millisecond

// completeRuns offers the names of stored runs to a shell. It has nothing to offer, and nothing to complain of, where no
// system runs. It is for flags and for arguments alike.
func (a *app) completeRuns(cmd *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
	ctx, cancel := context.WithTimeout(cmd.Context(), completionPatience)
	defer cancel()
	a.serversOfEnvironment() // a completion runs no PersistentPreRun
	names, err := a.runNames(ctx, begun)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// completeRunsOrFiles offers the names of stored runs, and where none begins so, the shell's own files and folders.
func (a *app) completeRunsOrFiles(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
	names, _ := a.completeRuns(cmd, args, begun)
	return names, cobra.ShellCompDirectiveDefault
}

func (a *app) runNames(ctx context.Context, begun string) ([]string, error) {
	endpoint, err := a.databaseEndpoint()
	if err != nil {
		return nil, err
	}
	reader, err := endpoint.OpenReader(ctx)
	if err != nil {
		return nil, err
	}
	defer reader.Close() //nolint:errcheck // only read
	var answer bytes.Buffer
	query := "SELECT DISTINCT name FROM tap_store.run WHERE startsWith(name, {begun:String}) ORDER BY name LIMIT 100"
	if err := reader.Query(ctx, &answer, report.CSV, query, map[string]string{"begun": begun}); err != nil {
		return nil, err
	}
	lines, err := csv.NewReader(&answer).ReadAll()
	if err != nil || len(lines) == 0 {
		return nil, err
	}
	var names []string
	for _, line := range lines[1:] {
		if name := line[0]; name == report.Printable(name) { // what a shell could not show
			names = append(names, name)
		}
	}
	return names, nil
}

// completeRunFlags has the shell complete those flags of the command with names of runs.
func (a *app) completeRunFlags(cmd *cobra.Command, flags ...string) {
	for _, flag := range flags {
		_ = cmd.RegisterFlagCompletionFunc(flag, a.completeRuns)
	}
}
