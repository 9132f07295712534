package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/tensortap/tensortap/analysis/report"
	"github.com/tensortap/tensortap/internal/system"
)

func newRunsPin(a *app) *cobra.Command {
	return a.pinning("pin", "pinned", &cobra.Command{
		Use:     "pin RUN",
		Short:   "Keep a run: it is not deleted until it is unpinned",
		Example: "  tensortap runs pin good",
	}, (*system.Client).PinRun)
}

func newRunsUnpin(a *app) *cobra.Command {
	return a.pinning("unpin", "no longer pinned", &cobra.Command{
		Use:     "unpin RUN",
		Short:   "Let a pinned run go again",
		Example: "  tensortap runs unpin good",
	}, (*system.Client).UnpinRun)
}

func (a *app) pinning(what, is string, cmd *cobra.Command, do func(*system.Client, context.Context, string) error) *cobra.Command {
	cmd.Args = cobra.ExactArgs(1)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return a.inRunning(cmd.Context(), "to "+what+" a run", func(ctx context.Context, client *system.Client) error {
			if err := do(client, ctx, args[0]); err != nil {
				return err
			}
			_, err := fmt.Fprintf(a.stdout, "run %s is %s\n", report.Printable(args[0]), is)
			return err
		})
	}
	cmd.ValidArgsFunction = a.completeRuns
	return cmd
}
