package main

import (
	"cmp"
	"context"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/tensortap/tensortap/internal/system"
)

// runParameters are the parameters that name a run.
func runParameters() []string { return []string{"problem", "bench", "run"} }

// checkRuns refuses names of runs that are not there, which would give an empty answer.
func (*app) checkRuns(ctx context.Context, client *system.Client, parameters map[string]string) error {
	for _, name := range runParameters() {
		if parameters[name] == "" {
			continue
		}
		if err := client.CheckRun(ctx, parameters[name]); err != nil {
			return fmt.Errorf("--%s: %w", name, err)
		}
	}
	return nil
}

// checkPlace refuses an unknown rank or op.
func checkPlace(ctx context.Context, cmd *cobra.Command, client *system.Client, parameters map[string]string) error {
	run := parameters["problem"] + parameters["run"] // a report has one of these names
	if run == "" {
		return nil
	}
	if cmd.Flags().Changed("rank") {
		rank, err := strconv.ParseInt(parameters["rank"], 10, 64)
		if err != nil {
			return fmt.Errorf("--rank: %w", err)
		}
		if err := client.CheckRank(ctx, run, rank); err != nil {
			return fmt.Errorf("--rank: %w", err)
		}
	}
	if op := parameters["op"]; op != "" && cmd.Name() != "shapes" { // which takes part of a name
		return client.CheckOp(ctx, [2]string{run, cmp.Or(parameters["bench"], run)}, op)
	}
	return nil
}
