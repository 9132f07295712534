package main

import (
	"context"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/tensortap/tensortap/internal/report"
	"github.com/tensortap/tensortap/internal/system"
	"github.com/tensortap/tensortap/sql"
)

func newRuns(a *app) *cobra.Command {
	var (
		output string
		limit  int
	)
	cmd := &cobra.Command{
		Use:     "runs",
		Short:   "List the stored runs",
		Example: "  tensortap runs\n  tensortap runs --output csv",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			r, err := sql.ReportByName("runs")
			if err != nil {
				return err
			}
			return a.query(cmd, r.Query, map[string]string{"limit": strconv.Itoa(limit)}, output)
		},
	}
	cmd.Flags().IntVar(&limit, "limit", 100, "greatest number of runs")
	addOutput(cmd, &output)
	return cmd
}

func newQuery(a *app) *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "query SQL",
		Short: "Ask the database in SQL; reading only",
		Long: `Ask the database in SQL; reading only. Views for people are in the database tap,
tables in tap_store; schemas/README.md says what their columns mean.`,
		Example: `  tensortap query 'SELECT name, world_size FROM tap.runs'
  tensortap query 'SELECT op, value_max FROM tap.tensors WHERE isNaN(value_max) LIMIT 10' --output csv`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return a.query(cmd, args[0], nil, output) },
	}
	addOutput(cmd, &output)
	return cmd
}

// query runs a query as the user who may only read.
func (a *app) query(cmd *cobra.Command, query string, parameters map[string]string, output string) error {
	format, err := report.ParseFormat(output)
	if err != nil {
		return err
	}
	ask := func(ctx context.Context, endpoint system.Endpoint) error {
		return a.queryAt(ctx, endpoint, format, query, parameters)
	}
	if a.clickhouse != "" {
		return ask(cmd.Context(), system.Endpoint{ClickHouse: a.clickhouse, Reader: a.clickhouse})
	}
	return a.share(cmd.Context(), ask, func(ctx context.Context) error {
		return a.inOwn(ctx, func(ctx context.Context, client *system.Client) error { return ask(ctx, client.Endpoint) })
	})
}

func (a *app) queryAt(ctx context.Context, endpoint system.Endpoint, format report.Format, query string, parameters map[string]string) error {
	reader, err := endpoint.OpenReader(ctx)
	if err != nil {
		return err
	}
	defer reader.Close() //nolint:errcheck // only read
	return reader.Query(ctx, a.stdout, format, query, parameters)
}
