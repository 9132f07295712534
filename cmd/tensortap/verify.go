package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/tensortap/tensortap/analysis/report"
	"github.com/tensortap/tensortap/internal/plural"
	"github.com/tensortap/tensortap/internal/system"
)

// mostNamed is how many damaged files or parts are named.
const mostNamed = 5

func newVerify(a *app) *cobra.Command {
	var heal bool
	cmd := &cobra.Command{
		Use:   "verify",
		Short: "Hold stream, tables and archive against each other",
		Long: `Hold stream, tables and archive against each other: every message of the stream, every file of the
archive and every part of a table is read, with its checksum. What one of them lacks that another has is named by run and
kind. With --heal the tables are filled from the archive and the stream, and the archive from the
stream and the tables; damaged files of the archive are kept in its folder quarantine, damaged parts
of a table in its folder detached. Nothing is stored twice. The system may be running; what it stores meanwhile is no difference.

Stores that tensortap consume fills are held against the stream: the tables from any host, an archive
on the host of its data folder. They are not healed: docs/roles.md says what to do.

Exit status: 0 all is whole, or was healed; 1 something is lost or damaged; 2 an error: not known.`,
		Example: `  tensortap verify
  tensortap verify --heal`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			do := a.verify
			if heal {
				do = a.heal
			}
			return a.share(cmd.Context(), func(ctx context.Context, endpoint system.Endpoint) error {
				client, err := a.connect(ctx, endpoint)
				if err != nil {
					return err
				}
				defer client.Close()
				return do(ctx, client)
			}, func(ctx context.Context) error { return a.inOwn(ctx, do) })
		},
	}
	cmd.Flags().BoolVar(&heal, "heal", false, "mend each of them from the others")
	return cmd
}

func (a *app) heal(ctx context.Context, client *system.Client) error {
	reading := a.progressIn("stream, tables and archive", false)
	result, err := client.Heal(ctx)
	reading.finish()
	if err != nil {
		return err
	}
	for _, text := range result.Healed {
		fmt.Fprintln(a.stdout, "healed:", report.Printable(text))
	}
	for _, text := range result.Left {
		fmt.Fprintln(a.stdout, "not whole:", report.Printable(text))
	}
	switch {
	case result.Error != "":
		return fmt.Errorf("heal: %s", result.Error)
	case len(result.Left) > 0:
		return errDiffers
	}
	a.tellWhole(result.Refused)
	return nil
}

// tellWhole names the batches that no table can take: they are kept, but no question finds them.
func (a *app) tellWhole(refused string) {
	if refused == "" {
		fmt.Fprintln(a.stdout, "nothing is lost, nothing is damaged")
		return
	}
	fmt.Fprintf(a.stdout, "dead letters of the tables: %s\n  `%s report dead-letters` says why; what files have of it, publish again with --replace\n", refused, a.program())
	fmt.Fprintln(a.stdout, "nothing else is lost, nothing is damaged")
}

func (a *app) verify(ctx context.Context, client *system.Client) error {
	reading := a.progressIn("stream, tables and archive", false)
	v, err := client.Verify(ctx)
	reading.finish()
	if err != nil {
		return err
	}
	if a.clickhouse != "" {
		v.OnlyInTables = ""
	}
	fmt.Fprintf(a.stdout, "stream   %s\ntables   %s", plural.Of(v.Stream, "batch"), plural.Of(v.Tables, "batch"))
	if v.TablesRefused > 0 {
		fmt.Fprintf(a.stdout, ", and %s that the tables cannot take", plural.Of(v.TablesRefused, "dead letter"))
	}
	fmt.Fprintln(a.stdout)
	if v.ArchiveIn == "" {
		fmt.Fprintln(a.stdout, "archive  not looked at: the data folder has none of this stream, see --data")
	} else {
		fmt.Fprintf(a.stdout, "archive  %s\n", plural.Of(v.Archive, "batch"))
	}
	if v.Whole() {
		a.tellWhole(v.Refused)
		return nil
	}
	if v.StreamDamaged != nil {
		fmt.Fprintf(a.stdout, "the stream is damaged: %s\n  tables and archive keep what they have of it; to begin a new one, stop `%s up`, move the folder nats of the data folder away, but keep it, and run `%[2]s restore`\n", printable(v.StreamDamaged), a.program())
	}
	a.tellDamaged("the archive is damaged", "files", v.FilesDamaged)
	a.tellDamaged("the tables are damaged", "parts", v.PartsDamaged)
	a.tellMissing("missing in the tables", v.TablesLack)
	a.tellMissing("other rows than were stored in the tables", v.TablesDiffer)
	a.tellMissing("missing in the archive", v.ArchiveLacks)
	a.tellMissing("dead letters of the tables", v.Refused)
	a.tellMissing("only the tables have", v.OnlyInTables)
	a.tellMissing("published, and lost before any store had it, publish it again", v.Vanished)
	if v.Mendable() {
		fmt.Fprintf(a.stdout, "to mend each from the others: %s verify --heal\n", a.program())
	}
	return errDiffers
}

func (a *app) tellDamaged(what, unit string, damaged []error) {
	for _, d := range damaged[:min(len(damaged), mostNamed)] {
		fmt.Fprintf(a.stdout, "%s: %s\n", what, printable(d))
	}
	if more := len(damaged) - mostNamed; more > 0 {
		fmt.Fprintf(a.stdout, "%s: %d more %s\n", what, more, unit)
	}
}

func (a *app) tellMissing(where, what string) {
	if what != "" {
		fmt.Fprintf(a.stdout, "%s: %s\n", where, what)
	}
}
