package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/tensortap/tensortap/internal/system"
)

// filesNamed is how many damaged files are named.
const filesNamed = 5

func newVerify(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "verify",
		Short: "Hold stream, tables and archive against each other",
		Long: `Hold stream, tables and archive against each other: every message of the stream and every file of
the archive is read, with its checksum. What one of them lacks that another has is named by run and
kind, with the command that brings it back. The status is 1 if something is lost or damaged.
The system may be running; what it stores meanwhile is no difference.`,
		Example: `  tensortap verify`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.share(cmd.Context(), func(ctx context.Context, endpoint system.Endpoint) error {
				client, err := a.connect(ctx, endpoint)
				if err != nil {
					return err
				}
				defer client.Close()
				return a.verify(ctx, client)
			}, func(ctx context.Context) error { return a.inOwn(ctx, a.verify) })
		},
	}
}

func (a *app) verify(ctx context.Context, client *system.Client) error {
	v, err := client.Verify(ctx)
	if err != nil {
		return err
	}
	if a.clickhouse != "" {
		v.OnlyInTables = ""
	}
	fmt.Fprintf(a.stdout, "stream   %d batches\ntables   %d batches of measurements\narchive  %d batches\n", v.Stream, v.Tables, v.Archive)
	if v.Whole() {
		fmt.Fprintln(a.stdout, "nothing is lost, nothing is damaged")
		return nil
	}
	if v.StreamDamaged != nil {
		fmt.Fprintf(a.stdout, "the stream is damaged: %s\n  stop `%s up`, move the folder nats of the data folder away, but keep it, and run `%[2]s restore`\n", printable(v.StreamDamaged), a.program())
	}
	for _, file := range v.FilesDamaged[:min(len(v.FilesDamaged), filesNamed)] {
		fmt.Fprintf(a.stdout, "the archive is damaged: %s\n", printable(file))
	}
	if more := len(v.FilesDamaged) - filesNamed; more > 0 {
		fmt.Fprintf(a.stdout, "the archive is damaged: %d more files\n", more)
	}
	a.tellMissing("tables", v.TablesLack, "restore")
	a.tellMissing("archive", v.ArchiveLacks, "replay")
	if v.ArchiveLacks == "" && v.OnlyInTables != "" {
		fmt.Fprintf(a.stdout, "only the tables have: %s\n  neither stream nor archive can make these again\n", v.OnlyInTables)
	}
	return errDiffers
}

func (a *app) tellMissing(store, what, remedy string) {
	if what != "" {
		fmt.Fprintf(a.stdout, "missing in the %s: %s\n  stop `%s up` and run `%[3]s %[4]s`\n", store, what, a.program(), remedy)
	}
}
