package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"go.opentelemetry.io/otel/attribute"

	"github.com/tensortap/tensortap/analysis/report"
	"github.com/tensortap/tensortap/internal/spans"
	"github.com/tensortap/tensortap/internal/system"
	"github.com/tensortap/tensortap/sql"
)

// asked is a query as the read-only user asks it.
type asked struct {
	text       string
	parameters map[string]string
	style      report.Style
	now        bool // do not wait for events published before
	measured   bool // the query takes what each run takes of the disk, which the database alone does not know
}

// addNow adds --now.
func addNow(cmd *cobra.Command, now *bool) {
	cmd.Flags().BoolVar(now, "now", false, "do not wait until the database holds all events published before")
}

func newRuns(a *app) *cobra.Command {
	cmd := a.listing("runs", &cobra.Command{
		Use:   "runs",
		Short: "List the stored runs, pin or delete one",
		Long: `List the stored runs, with the bytes that each takes in tables and archive; or pin one, which
keeps it, or delete one. tensortap disk shows all places.`,
		Example: `  tensortap runs
  tensortap runs --columns name,status,labels
  tensortap runs --output csv
  tensortap runs pin good
  tensortap runs delete bad`,
	})
	cmd.AddCommand(newRunsDelete(a), newRunsPin(a), newRunsUnpin(a))
	return cmd
}

// listing completes a command that lists the rows of the report of that name.
func (a *app) listing(name string, cmd *cobra.Command) *cobra.Command {
	var (
		view looks
		now  bool
	)
	r, missing := sql.ReportByName(name)
	view.shown = r.Shown
	cmd.Args = cobra.NoArgs
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		style, err := view.style()
		if err != nil {
			return err
		}
		if missing != nil {
			return missing
		}
		return a.query(cmd.Context(), asked{text: r.Query, parameters: listed(r, style), style: style, now: now, measured: name == "runs"})
	}
	view.limitFlag(cmd, 100)
	view.flags(cmd)
	addNow(cmd, &now)
	return cmd
}

// listed are the parameters of a report that lists everything.
func listed(r sql.Report, style report.Style) map[string]string {
	values := map[string]string{}
	for _, p := range r.Parameters {
		values[p.Name] = p.Default
	}
	values["limit"] = limitParameter(style)
	return values
}

func newQuery(a *app) *cobra.Command {
	var (
		view looks
		now  bool
	)
	cmd := &cobra.Command{
		Use:   "query SQL",
		Short: "Ask the database in SQL, read-only",
		Long: `Ask the database in SQL, read-only. Views for people are in the database tap,
tables in tap_store; schemas/README.md explains their columns.`,
		Example: `  tensortap query 'SELECT name, world_size FROM tap.runs'
  tensortap query 'SELECT rank, step, op, role, value_max FROM tap.tensors ORDER BY abs(value_max) DESC' --limit 10
  tensortap query 'SELECT * FROM tap.tensors' --limit 1 --vertical`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			style, err := view.style()
			if err != nil {
				return err
			}
			return a.query(cmd.Context(), asked{text: args[0], style: style, now: now})
		},
	}
	view.flags(cmd)
	view.limitFlag(cmd, 0)
	addNow(cmd, &now)
	return cmd
}

// query asks where the system is.
func (a *app) query(ctx context.Context, q asked) error {
	ask := func(ctx context.Context, endpoint system.Endpoint) error { return a.queryAt(ctx, endpoint, q) }
	if a.clickhouse != "" {
		return ask(ctx, a.elsewhere(system.Endpoint{}))
	}
	return a.share(ctx, ask, func(ctx context.Context) error {
		return a.inOwn(ctx, func(ctx context.Context, client *system.Client) error { return ask(ctx, client.Endpoint) })
	})
}

func (a *app) queryAt(ctx context.Context, endpoint system.Endpoint, q asked) (err error) {
	if !q.now && endpoint.NATS != "" {
		a.waitCurrent(ctx, endpoint)
	}
	reader, err := system.OpenReader(ctx, endpoint)
	if err != nil {
		return err
	}
	defer reader.Close() //nolint:errcheck // only read
	ctx, span := spans.Asking(ctx, "query", attribute.String("db.system.name", "clickhouse"))
	defer func() { spans.End(span, err) }()
	if q.measured {
		q.parameters[measured] = a.measure(ctx, endpoint)
	}
	err = reader.Write(ctx, a.stdout, q.style, q.text, q.parameters)
	return err
}

// measured is a parameter of the report of runs that database, archive and stream know together, and no flag.
const measured = "measured"

// measure says what is known of the runs besides the database's own. Where the stream is away that is nothing.
func (a *app) measure(ctx context.Context, endpoint system.Endpoint) string {
	if endpoint.NATS == "" {
		return "[]"
	}
	known, err := system.Measured(ctx, endpoint, time.Now)
	if err != nil {
		fmt.Fprintln(a.stderr, "INCOMPLETE: not known what runs take, and which are pinned:", printable(err))
	}
	return known
}

// waitCurrent waits for events published just before. If the stream is away, the database answers all the same.
func (a *app) waitCurrent(ctx context.Context, endpoint system.Endpoint) {
	client, err := system.ConnectStream(endpoint, time.Now)
	if err == nil {
		defer client.Close()
		err = client.WaitCurrent(ctx)
	}
	if err != nil {
		fmt.Fprintln(a.stderr, "INCOMPLETE:", printable(err))
	}
}
