package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/tensortap/tensortap/internal/system"
)

func newRestore(a *app) *cobra.Command {
	var from string
	cmd := &cobra.Command{
		Use:   "restore",
		Short: "Make stream and tables again from the Parquet files",
		Long: `Make stream and tables again from the Parquet files of an archive: the one in the data folder,
or with --from a copy of another. What is there already stays as it is, so this only fills gaps,
and the archive is only read. Files that are damaged are named and left out; the status is then 2.
The system must not be running: stop ` + "`tensortap up`" + ` first.`,
		Example: `  tensortap restore
  tensortap restore --from /backup/archive --data new`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			// The stream may have what the tables lost.
			return a.replaying(cmd.Context(), system.ReplayMissing, func(ctx context.Context, client *system.Client) error {
				return a.restore(ctx, client, from)
			})
		},
	}
	cmd.Flags().StringVar(&from, "from", "", "folder of the archive, by default that of the data folder")
	return cmd
}

func (a *app) restore(ctx context.Context, client *system.Client, from string) error {
	progress := a.progressIn("restore", false)
	restored, err := client.Restore(ctx, from, progress.set, a.waiting())
	progress.finish()
	if err != nil {
		return err
	}
	if _, err := client.WaitReplayed(ctx, func(_, _ int64) {}); err != nil {
		return err
	}
	if _, err := client.Reclaim(ctx); err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.stdout, "restored %d messages, %d rows, that stream and tables lacked; they had %d others\n", restored.Messages, restored.Rows, restored.Held)
	if restored.Deleted > 0 {
		fmt.Fprintf(a.stdout, "%d messages were left out of runs that were deleted\n", restored.Deleted)
	}
	if restored.Damaged > 0 {
		err = errors.Join(err, fmt.Errorf("%d files of the archive are damaged and were left out, the first: %w", restored.Damaged, errors.Join(restored.First...)))
	}
	return err
}
