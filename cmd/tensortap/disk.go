package main

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/spf13/cobra"

	"github.com/tensortap/tensortap/analysis/report"
	"github.com/tensortap/tensortap/internal/retention"
	"github.com/tensortap/tensortap/internal/system"
)

func newDisk(a *app) *cobra.Command {
	var (
		view  looks
		rules string
	)
	cmd := &cobra.Command{
		Use:   "disk",
		Short: "Say what takes the room, by run and place",
		Long: `Say what takes the room, by run and place: stream, tables, archive, and on this host logs, raw
tensors, traces and spools. What a run takes of a table is measured by its share of the rows. What
several runs share, as definitions are, and what is of no run has an empty name.

With --retention it says instead when each run, a part of it, or a spool on this host goes by the
rules of that file. A spool goes only if nobody serves it until then.`,
		Example: `  tensortap disk
  tensortap disk --output json
  tensortap disk --output csv
  tensortap disk --retention rules.yaml`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			style, err := view.style()
			if err != nil {
				return err
			}
			return a.inRunning(cmd.Context(), "to measure what is stored", func(ctx context.Context, client *system.Client) error {
				record, err := a.room(ctx, client, rules)
				if err != nil {
					return err
				}
				return report.WriteRecord(a.stdout, style, record)
			})
		},
	}
	view.flags(cmd)
	view.limitFlag(cmd, 0)
	cmd.Flags().StringVar(&rules, "retention", "", "`FILE` of rules, as tensortap up takes it (docs/retention.md)")
	_ = cmd.MarkFlagFilename("retention", "yaml", "yml")
	return cmd
}

// room is what takes the room or, with a file of rules, when that goes.
func (a *app) room(ctx context.Context, client *system.Client, file string) (arrow.RecordBatch, error) {
	if file == "" {
		return client.RoomTable(ctx, a.spoolRoot())
	}
	rules, err := retention.ReadRules(file)
	if err != nil {
		return nil, err
	}
	return client.LifetimeTable(ctx, rules, a.spoolRoot())
}
