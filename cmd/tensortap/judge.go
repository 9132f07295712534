package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/tensortap/tensortap/internal/system"
)

func newJudge(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "judge",
		Short: "Judge standing comparisons as steps land, until Ctrl-C",
		Long: `Judge standing comparisons as steps land, until Ctrl-C: the comparisons of baselines, and
of runs that were started with --bench. tensortap up has a judge inside. Several judges
share the comparisons. If one is killed, another takes over within ten seconds. No
verdict is lost or stored twice.`,
		Example: `  tensortap judge
  tensortap judge --data /srv/tensortap`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			for {
				err := a.inRunning(cmd.Context(), "a judge works beside a running system", func(ctx context.Context, client *system.Client) error {
					return client.JudgeBeside(ctx, a.logger())
				})
				if !errors.Is(err, system.ErrMoved) {
					return err
				}
			}
		},
	}
}
