package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tensortap/tensortap/analysis/report"
	"github.com/tensortap/tensortap/internal/plural"
	"github.com/tensortap/tensortap/internal/retention"
	"github.com/tensortap/tensortap/internal/system"
)

// deleting is how a run is deleted.
type deleting struct {
	yes, force bool
	answers    io.Reader
}

func newRunsDelete(a *app) *cobra.Command {
	var how deleting
	cmd := &cobra.Command{
		Use:   "delete RUN",
		Short: "Remove a run from stream, tables, archive and this host's folders, for good",
		Long: `Remove a run from stream, tables, archive and this host's folders of logs, raw tensors and
traces, for good. What would go is shown first, and asked for; what is left is counted after. A run
that is pinned, whose ranks live, or that a baseline names is kept, unless --force is given.

Who fills the stores removes the run: tensortap up, or in a fleet tensortap consume. Killed in the
middle, the next start of the first goes on, or another of the second. What comes of the run later is
refused and counted. Its name is not given again. docs/retention.md says what stays.

Exit status: 0 nothing of it is left; 2 an error, or it is kept.`,
		Example: `  tensortap runs delete bad
  tensortap runs delete bad --yes`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			how.answers = cmd.InOrStdin()
			return a.inRunning(cmd.Context(), "to delete a run", func(ctx context.Context, client *system.Client) error {
				return a.deleteRun(ctx, client, args[0], how)
			})
		},
	}
	cmd.Flags().BoolVar(&how.yes, "yes", false, "do not ask")
	cmd.Flags().BoolVar(&how.force, "force", false, "even if it is pinned, its ranks live, or a baseline names it")
	cmd.ValidArgsFunction = a.completeRuns
	return cmd
}

func (a *app) deleteRun(ctx context.Context, client *system.Client, run string, how deleting) error {
	deletion, err := client.LookAtDeletion(ctx, run)
	if err != nil {
		return err
	}
	name := report.Printable(run)
	if deletion.Gone {
		return a.tellGone(name, deletion)
	}
	fmt.Fprintf(a.stdout, "run %s takes %s\n", name, report.Size(bytesOf(deletion.Room)))
	a.tellRoom(deletion.Room)
	if len(deletion.Why) > 0 && !how.force {
		return client.KeepRun(ctx, run, fmt.Errorf("run %s is kept: %s; --force deletes it all the same", name, strings.Join(deletion.Why, "; ")))
	}
	if deletion.Since.IsZero() && !how.yes {
		if err := a.askFor(how.answers, name); err != nil {
			return err
		}
	}
	left, err := client.DeleteRun(ctx, deletion, how.force)
	if err != nil {
		return err
	}
	return a.tellDeleted(name, deletion.Room, left)
}

func (a *app) tellGone(name string, deletion *system.Deletion) error {
	fmt.Fprintf(a.stdout, "run %s was deleted on %s\n", name, deletion.Since.UTC().Format(time.DateTime))
	if len(deletion.Room) > 0 {
		fmt.Fprintln(a.stdout, "since then, there came and will go:")
		a.tellRoom(deletion.Room)
	}
	return nil
}

// tellDeleted counts what went, and what is left: events on their way are refused, and leave the stream by themselves.
func (a *app) tellDeleted(name string, before, left []retention.Use) error {
	fmt.Fprintf(a.stdout, "run %s is deleted: %s are free\n", name, report.Size(bytesOf(before)-min(bytesOf(left), bytesOf(before))))
	if len(left) == 0 {
		fmt.Fprintln(a.stdout, "nothing of it is left")
		return nil
	}
	fmt.Fprintln(a.stdout, "what is left came late, counts nowhere, and goes by itself:")
	a.tellRoom(left)
	return nil
}

func bytesOf(room []retention.Use) uint64 {
	total := uint64(0)
	for _, u := range room {
		total += u.Bytes
	}
	return total
}

func (a *app) tellRoom(room []retention.Use) {
	for _, u := range room {
		text := fmt.Sprintf("  %-9s %10s", u.Store, report.Size(u.Bytes))
		if u.Rows > 0 {
			text += "  " + plural.Of(u.Rows, "row")
		}
		fmt.Fprintln(a.stdout, text)
	}
}

// askFor is an error unless the user says yes.
func (a *app) askFor(answers io.Reader, name string) error {
	fmt.Fprintf(a.stdout, "delete run %s for good? [y/N] ", name)
	answer, err := bufio.NewReader(answers).ReadString('\n')
	if answer == "" && err != nil {
		fmt.Fprintln(a.stdout)
		return errors.New("nobody answered: give --yes")
	}
	switch strings.ToLower(strings.TrimSpace(answer)) {
	case "y", "yes":
		return nil
	}
	return fmt.Errorf("run %s is kept", name)
}
