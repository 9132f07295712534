package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/tensortap/tensortap/internal/plural"
	"github.com/tensortap/tensortap/internal/system"
)

func newReplay(a *app) *cobra.Command {
	var rebuild bool
	cmd := &cobra.Command{
		Use:   "replay",
		Short: "Store the events of the stream again",
		Long: `Store the events of the stream again, in the database and in the archive. Stored events
stay as they are, so this only fills gaps. With --rebuild new tables are filled beside those
of the database, held against them row by row, and put in their place. If the stream lacks
events that the tables have, that is refused, and nothing changes. It takes the room of
both for as long as it runs. The system must not be running: stop ` + "`tensortap up`" + ` first.`,
		Example: `  tensortap replay
  tensortap replay --rebuild`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			how := system.ReplayMissing
			if rebuild {
				how = system.ReplayRebuild
			}
			return a.replaying(cmd.Context(), replayed{how: how}, a.waitReplayed)
		},
	}
	cmd.Flags().BoolVar(&rebuild, "rebuild", false, "make the tables of the database anew")
	return cmd
}

// replayed is what a system stores again as it starts.
type replayed struct {
	how       system.Replay
	restoring bool // the job restores an archive
}

// replaying runs job on a system that stores the stream again.
func (a *app) replaying(ctx context.Context, r replayed, job func(context.Context, *system.Client) error) error {
	cfg, err := a.config(a.data)
	if err != nil {
		return err
	}
	cfg.Replay, cfg.Restoring = r.how, r.restoring
	cfg.ArchiveAge = time.Second // the command waits for it
	bar := &progress{}
	if r.how == system.ReplayRebuild {
		bar = a.progressIn("rebuild", false)
	}
	cfg.Rebuilding = bar.set
	defer bar.finish()
	return system.WithSystem(ctx, cfg, func(ctx context.Context, client *system.Client) error {
		bar.finish()
		return job(ctx, client)
	})
}

func (a *app) waitReplayed(ctx context.Context, client *system.Client) error {
	progress := a.progress("replay")
	messages, err := client.WaitReplayed(ctx, progress.set, a.waiting())
	progress.finish()
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.stdout, "%s of the stream %s stored\n", plural.Of(messages, "message"), plural.Verb(messages, "is", "are"))
	return err
}
