package main

import (
	"context"
	"errors"
	"fmt"

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
			if a.nats != "" || a.clickhouse != "" {
				return a.inRunning(cmd.Context(), "a judge works beside a running system", func(ctx context.Context, client *system.Client) error {
					return client.Judge(ctx, a.logger())
				})
			}
			return a.beside(cmd.Context(), "a judge", func(ctx context.Context, client *system.Client) error {
				return client.JudgeBeside(ctx, a.logger())
			})
		},
	}
}

// beside works beside the system of the data folder and, where that was started anew and listens elsewhere, beside the next
// one.
func (a *app) beside(ctx context.Context, who string, work question) error {
	folder, err := a.folder()
	if err != nil {
		return err
	}
	none := fmt.Errorf("%s works beside a running system: %w on %s: start one with `tensortap up`, or name one with --nats and --clickhouse", who, system.ErrNotRunning, folder)
	untilMoved := func(ctx context.Context, endpoint system.Endpoint) error {
		client, err := a.connect(ctx, endpoint)
		if err != nil {
			return err
		}
		defer client.Close()
		return work(ctx, client)
	}
	for {
		err := a.shareFolder(ctx, folder, untilMoved, func(context.Context) error { return none })
		if !errors.Is(err, system.ErrMoved) {
			return err
		}
		none = fmt.Errorf("the system on %s %w", folder, system.ErrStarting) // the next one is waited for
	}
}
