package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/tensortap/tensortap/internal/credentials"
)

func newCredentials(a *app) *cobra.Command {
	var request credentials.Request
	cmd := &cobra.Command{
		Use:   "credentials FOLDER",
		Short: "Make what the parts of a fleet know each other by",
		Long: `Make what the parts of a fleet know each other by, as files in a folder: for each role
a key with which it connects to NATS (--creds), the list of these users with their rights
that the NATS server includes (users.conf), and passwords of ClickHouse and Grafana. What
is there stays as it is, so that the command may be given again, with further runs.

A producer of a run may publish that run alone. For a new one to connect, the server reads
users.conf again: nats-server --signal reload.`,
		Example: `  tensortap credentials deploy/secrets
  tensortap credentials deploy/secrets --run nightly --run experiment-7
  tensortap credentials secrets --database db.example:8123`,
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			request.Folder = args[0]
			made, err := credentials.Make(request)
			for _, name := range made {
				_, failed := fmt.Fprintln(a.stdout, name)
				err = errors.Join(err, unlessClosed(failed))
			}
			return err
		},
	}
	cmd.Flags().StringVar(&request.Database, "database", "clickhouse:8123", "`HOST:PORT` of ClickHouse, for the addresses of its users")
	cmd.Flags().StringArrayVar(&request.Runs, "run", nil, "make a producer of this `RUN`; may be given again")
	return cmd
}
