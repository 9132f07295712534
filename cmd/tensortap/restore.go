package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/tensortap/tensortap/internal/plural"
	"github.com/tensortap/tensortap/internal/system"
)

func newRestore(a *app) *cobra.Command {
	var from archiveTo
	cmd := &cobra.Command{
		Use:   "restore",
		Short: "Make stream and tables again from the Parquet files",
		Long: `Make stream and tables again from the Parquet files of an archive: the one in the data folder,
or with --from a copy of another, in a folder or in a bucket of S3-compatible storage
(docs/archive.md). What is there already stays as it is, so this only fills gaps, and the archive
is only read. Files that are damaged or missing are named and left out; the status is then 2.
The system must not be running: stop ` + "`tensortap up`" + ` first.`,
		Example: `  tensortap restore
  tensortap restore --from /backup/archive --data new
  tensortap restore --from s3://backup/tensortap --archive-endpoint https://minio.local:9000`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !namesBucket(from.address) && from.endpoint != "" {
				return errors.New("--archive-endpoint: it goes with --from s3://BUCKET/PREFIX")
			}
			// The stream may have what the tables lost.
			return a.replaying(cmd.Context(), replayed{how: system.ReplayMissing, restoring: true}, func(ctx context.Context, client *system.Client) error {
				return a.restore(ctx, client, &from)
			})
		},
	}
	cmd.Flags().StringVar(&from.address, "from", "", "folder of the archive, by default that of the data folder; or a bucket, as s3://BUCKET/PREFIX")
	from.endpointFlag(cmd.Flags())
	return cmd
}

// readArchive publishes what an archive has and stream and tables lack.
func (a *app) readArchive(ctx context.Context, client *system.Client, from *archiveTo) (system.Restored, error) {
	progress := a.progressIn("restore", false)
	defer progress.finish()
	if !namesBucket(from.address) {
		return client.Restore(ctx, from.address, progress.set, a.waiting())
	}
	place, err := from.place(a.getenv)
	if err != nil {
		return system.Restored{}, fmt.Errorf("--from: %w", err)
	}
	return client.RestoreBucket(ctx, place, progress.set, a.waiting())
}

func (a *app) restore(ctx context.Context, client *system.Client, from *archiveTo) error {
	restored, err := a.readArchive(ctx, client, from)
	if err != nil {
		return err
	}
	if err := client.FinishRestore(ctx, a.waiting()); err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.stdout, "restored %s, %s, that stream and tables lacked; they had %s\n",
		plural.Of(restored.Messages, "message"), plural.Of(restored.Rows, "row"), plural.Of(restored.Held, "other"))
	if restored.Deleted > 0 {
		fmt.Fprintf(a.stdout, "%s %s left out of runs that were deleted\n", plural.Of(restored.Deleted, "message"), plural.Verb(restored.Deleted, "was", "were"))
	}
	if restored.Damaged > 0 {
		err = errors.Join(err, fmt.Errorf("%s of the archive %s damaged and left out, the first: %w", plural.Of(restored.Damaged, "file"), plural.Verb(restored.Damaged, "is", "are"), errors.Join(restored.First...)))
	}
	return err
}
