package main

import (
	"context"
	"fmt"
	"io/fs"
	"sync"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/tensortap/tensortap/internal/api"
	"github.com/tensortap/tensortap/internal/system"
)

// defaultListen is where the page and the API are, unless it is said otherwise.
const defaultListen = "127.0.0.1:7070"

func newServe(a *app) *cobra.Command {
	var listen string
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve the page and the HTTP API, until Ctrl-C",
		Long: `Serve the page and the HTTP API, until Ctrl-C. The API answers below /api/v1 what the
command line answers: reports, comparisons, explanations, as JSON, Arrow, CSV and Parquet;
/api/v1/openapi.json describes it (docs/api.md). tensortap up has the same inside. Any
number of them may run beside the same servers, each started and stopped at any time.`,
		Example: `  tensortap serve
  tensortap serve --listen 127.0.0.1:8080 --nats nats://nats:4222 --clickhouse http://user:password@db:8123`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			answers, err := a.newAPI()
			if err != nil {
				return err
			}
			server, err := answers.Listen(cmd.Context(), listen)
			if err != nil {
				return err
			}
			tell := sync.OnceFunc(func() {
				fmt.Fprintf(a.stdout, "tensortap %s serves the page at %s, until Ctrl-C\n", version, server.URL())
			})
			return a.serve(cmd.Context(), answers, server, tell)
		},
	}
	cmd.Flags().StringVar(&listen, "listen", defaultListen, "`HOST:PORT` of the page and the API; port 0 takes a free one")
	return cmd
}

// page is the page that is built into the program; nil where it was not built.
func page() fs.FS { return nil }

func (a *app) newAPI() (*api.API, error) {
	return api.New(api.Config{Version: version, Page: page(), Log: a.logger()})
}

// serve answers requests by the running system, and by the next one where that of the folder was started anew.
func (a *app) serve(ctx context.Context, answers *api.API, server *api.Server, ready func()) error {
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return server.Run(ctx) })
	group.Go(func() error { return a.serveRunning(ctx, answers, ready) })
	return group.Wait()
}

func (a *app) serveRunning(ctx context.Context, answers *api.API, ready func()) error {
	const who = "the page"
	if a.nats != "" || a.clickhouse != "" {
		return a.inRunning(ctx, who+" works beside a running system", func(ctx context.Context, client *system.Client) error {
			return answerBy(ctx, client, answers, ready, untilDone)
		})
	}
	return a.beside(ctx, who, func(ctx context.Context, client *system.Client) error {
		return answerBy(ctx, client, answers, ready, client.UntilMoved)
	})
}

func untilDone(ctx context.Context) error {
	<-ctx.Done()
	return nil
}

// answerBy has requests answered by the system of a client, as one who only reads, until what is waited for has come.
func answerBy(ctx context.Context, client *system.Client, answers *api.API, ready func(), until func(context.Context) error) error {
	reading, err := client.Reading(ctx)
	if err != nil {
		return err
	}
	defer reading.Close()
	answers.Use(reading)
	defer answers.Use(nil)
	ready()
	return until(ctx)
}
