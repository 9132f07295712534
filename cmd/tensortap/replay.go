package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/tensortap/tensortap/internal/system"
)

func newReplay(a *app) *cobra.Command {
	var rebuild bool
	cmd := &cobra.Command{
		Use:   "replay",
		Short: "Store the events of the stream again",
		Long: `Store the events of the stream again, in the database and in the archive. Stored events
stay as they are, so this only fills gaps. With --rebuild the tables of the database are
emptied first, if the stream still holds all their events. The system must not be
running: stop ` + "`tensortap up`" + ` first.`,
		Example: `  tensortap replay
  tensortap replay --rebuild`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			how := system.ReplayMissing
			if rebuild {
				how = system.ReplayRebuild
			}
			return a.replaying(cmd.Context(), how, a.waitReplayed)
		},
	}
	cmd.Flags().BoolVar(&rebuild, "rebuild", false, "empty the tables of the database first")
	return cmd
}

// replaying runs job on a system that stores the stream again.
func (a *app) replaying(ctx context.Context, how system.Replay, job func(context.Context, *system.Client) error) error {
	cfg, err := a.config(a.data)
	if err != nil {
		return err
	}
	cfg.Replay = how
	cfg.ArchiveAge = time.Second // the command waits for it
	return system.WithSystem(ctx, cfg, job)
}

func (a *app) waitReplayed(ctx context.Context, client *system.Client) error {
	progress := a.progress("replay")
	messages, err := client.WaitReplayed(ctx, progress.set)
	progress.finish()
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.stdout, "%d messages of the stream are stored\n", messages)
	return err
}
